"""The ledger's API of watching for those who keep pages: beside `WatchClient`, telling and moving in."""

from blocks.clients.watch import WatchClient
from comity.contract.watch_moving import (
    ImportPages,
    MovingState,
    PagesImported,
    PagesSwitched,
    SwitchPages,
    TakeUpdates,
    UpdatesTaken,
    UpdateTimes,
)
from comity.contract.watch_telling import (
    ChangeChannel,
    Channel,
    ChannelMade,
    Channels,
    FeedLinks,
    FeedMade,
    Messages,
    NewChannel,
    NewFeed,
    NewSecret,
    Tried,
)

TEST_TIMEOUT_MS = 45_000
"""A receiver has 30 s."""


class KeeperClient(WatchClient):
    """The ledger at `url`, for people. Every method raises a ServiceError."""

    # --- telling

    def channels(self) -> Channels:
        """`GET /api/watch/channels`."""
        return self.ask(Channels, "GET", "/api/watch/channels")

    def add_channel(self, wanted: NewChannel) -> ChannelMade:
        """`POST /api/watch/channels`: the answer alone has a webhook's secret."""
        return self.ask(ChannelMade, "POST", "/api/watch/channels", body=wanted)

    def change_channel(self, channel_id: str, change: ChangeChannel) -> Channel:
        """`PATCH /api/watch/channels/{id}`."""
        return self.ask(Channel, "PATCH", f"/api/watch/channels/{channel_id}", body=change)

    def renew_secret(self, channel_id: str, wanted: NewSecret) -> ChannelMade:
        """`POST /api/watch/channels/{id}/secret`."""
        return self.ask(ChannelMade, "POST", f"/api/watch/channels/{channel_id}/secret", body=wanted)

    def test_channel(self, channel_id: str) -> Tried:
        """`POST /api/watch/channels/{id}/test`."""
        return self.ask(Tried, "POST", f"/api/watch/channels/{channel_id}/test", timeout_ms=TEST_TIMEOUT_MS)

    def messages(self, channel_id: str, *, before: str | None = None) -> Messages:
        """`GET /api/watch/channels/{id}/messages`, newest first."""
        return self.ask(Messages, "GET", f"/api/watch/channels/{channel_id}/messages", query={"before": before})

    def remove_channel(self, channel_id: str) -> None:
        """`DELETE /api/watch/channels/{id}`."""
        self.call("DELETE", f"/api/watch/channels/{channel_id}")

    def feeds(self) -> FeedLinks:
        """`GET /api/watch/feeds`."""
        return self.ask(FeedLinks, "GET", "/api/watch/feeds")

    def add_feed(self, wanted: NewFeed) -> FeedMade:
        """`POST /api/watch/feeds`: the answer alone has the addresses."""
        return self.ask(FeedMade, "POST", "/api/watch/feeds", body=wanted)

    def remove_feed(self, feed_id: str) -> None:
        """`DELETE /api/watch/feeds/{id}`."""
        self.call("DELETE", f"/api/watch/feeds/{feed_id}")

    # --- moving in

    def moving(self) -> MovingState:
        """`GET /api/watch/moving`."""
        return self.ask(MovingState, "GET", "/api/watch/moving")

    def import_pages(self, wanted: ImportPages) -> PagesImported:
        """`POST /api/watch/moving/pages`."""
        return self.ask(PagesImported, "POST", "/api/watch/moving/pages", body=wanted)

    def switch_pages(self, wanted: SwitchPages) -> PagesSwitched:
        """`POST /api/watch/moving/switch`: one step; `next` of the answer is the next one's `after`."""
        return self.ask(PagesSwitched, "POST", "/api/watch/moving/switch", body=wanted)

    def updates(self, *, after: str | None, limit: int = 1000) -> UpdateTimes:
        """`GET /api/watch/updates`."""
        return self.ask(UpdateTimes, "GET", "/api/watch/updates", query={"after": after, "limit": limit})

    def take_updates(self, wanted: TakeUpdates) -> UpdatesTaken:
        """`POST /api/watch/updates`."""
        return self.ask(UpdatesTaken, "POST", "/api/watch/updates", body=wanted)
