"""What a visit of a watched page costs now: one row, for all ledgers of a database."""

from datetime import datetime

from sqlalchemy import Double, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from ledger.store.models import Base
from ledger.store.models_watch import Number
from ledger.store.types import UtcMillis

ONLY = 1


class WatchPrice(Base):
    """The last fit. `visit_id` is the newest visit of that moment: how far the numbers went since is how many came."""

    __tablename__ = "watch_price"

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False, default=ONLY)
    days: Mapped[float] = mapped_column(Double)
    correction: Mapped[float] = mapped_column(Double)
    shape: Mapped[float] = mapped_column(Double)
    exposure_days: Mapped[float] = mapped_column(Double)
    fitted_at: Mapped[datetime] = mapped_column(UtcMillis)
    visit_id: Mapped[int] = mapped_column(Number)
    pages: Mapped[int] = mapped_column(Number)
    visits_a_day: Mapped[float] = mapped_column(Double)
