"""What one capture asks of its page, told to each target of it before that runs: the page, its frames and workers."""

from dataclasses import dataclass

from comity.capture.cdp import Params, Session

WITH_PAGE = frozenset({"page", "iframe"})
"""Kinds of targets that have a document."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What one capture tells every target of its page before that runs."""

    width: int
    height: int
    buffer_bytes: int
    task_bytes: int
    accept_language: str | None = None
    preload: tuple[str, ...] = ()
    deny_patterns: tuple[str, ...] = ()
    cache_off: bool = False

    @property
    def buffers(self) -> Params:
        """How much of bodies the browser is to keep for us."""
        return {"maxTotalBufferSize": self.task_bytes, "maxResourceBufferSize": self.buffer_bytes}

    def tell(self, session: Session, kind: str) -> None:
        """What the capture asks of every target."""
        if self.cache_off:
            session.post("Network.setCacheDisabled", {"cacheDisabled": True})
        patterns = self._fetch_patterns(kind)
        if patterns:
            session.post("Fetch.enable", {"patterns": patterns})
        if self.accept_language:
            self._speak(session, self.accept_language)
        if kind in WITH_PAGE and self.preload:
            # Without it a document that has no script of its own gets no world, and the preload never runs there.
            session.post("Runtime.enable")
            for source in self.preload:
                session.post("Page.addScriptToEvaluateOnNewDocument", {"source": source})

    def _speak(self, session: Session, accept_language: str) -> None:
        """The header exactly as asked, and `navigator.languages` to match (which takes no weights).

        The empty user agent keeps the browser's own, with its client hints; naming one takes them away.
        """
        session.post("Network.setExtraHTTPHeaders", {"headers": {"Accept-Language": accept_language}})
        languages = [item.partition(";")[0].strip() for item in accept_language.split(",")]
        session.post(
            "Emulation.setUserAgentOverride",
            {"userAgent": "", "acceptLanguage": ",".join(filter(None, languages))},
        )

    def metrics(self, device_pixel_ratio: int) -> Params:
        """The screen that the page finds."""
        return {
            "width": self.width,
            "height": self.height,
            "deviceScaleFactor": device_pixel_ratio,
            "mobile": False,
        }

    def _fetch_patterns(self, kind: str) -> list[Params]:
        patterns: list[Params] = [{"urlPattern": pattern, "requestStage": "Request"} for pattern in self.deny_patterns]
        if kind in WITH_PAGE and self.accept_language:
            patterns.append({"urlPattern": "*", "resourceType": "Document", "requestStage": "Request"})
        if kind in WITH_PAGE:
            patterns.append({"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"})
        return patterns
