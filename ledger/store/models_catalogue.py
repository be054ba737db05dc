"""The tables of the two catalogues, of scripts and of extractors: their ids, and every version of each."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from ledger.store.models import Base


class CatalogueEntry(Base):
    """A catalogue id. It outlives its removal, so that a version number never means two different things."""

    __abstract__ = True

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    enabled: Mapped[bool]
    removed: Mapped[bool]
    newest_version: Mapped[int]


class CatalogueVersion(Base):
    """What one version of an id is. Never changed once written, its description apart."""

    __abstract__ = True

    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, sort_order=1)
    sha256: Mapped[str] = mapped_column(String(64), sort_order=1)
    description: Mapped[str] = mapped_column(sort_order=1)
    added_at: Mapped[datetime] = mapped_column(sort_order=1)


class Script(CatalogueEntry):
    """A script that crawls may run inside pages."""

    __tablename__ = "script"


class ScriptVersion(CatalogueVersion):
    """A script's source, and what goes with it."""

    __tablename__ = "script_version"

    script_id: Mapped[str] = mapped_column(ForeignKey("script.id", ondelete="CASCADE"), primary_key=True)
    phase: Mapped[str] = mapped_column(String(16))
    source: Mapped[str] = mapped_column(Text, deferred=True)
    options: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


class CatalogueExtractor(CatalogueEntry):
    """An extractor that crawls may run over captured pages."""

    __tablename__ = "extractor"


class ExtractorVersion(CatalogueVersion):
    """An extractor's files and what they compile to.

    `files` are {path, source}, the entry first. `program` is its canonical JSON, as it was compiled when it came.
    """

    __tablename__ = "extractor_version"

    extractor_id: Mapped[str] = mapped_column(ForeignKey("extractor.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str]
    files: Mapped[list[Any]] = mapped_column(JSON, deferred=True)
    program: Mapped[str] = mapped_column(Text, deferred=True)
