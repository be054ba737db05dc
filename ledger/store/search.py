"""The full-text index: one row of terms a page, and the database's own index over them.

SQLite has FTS5 over `page_text.terms`; PostgreSQL a `tsvector` of them with a GIN index. Both are kept by triggers (see
the migration), so that a page that goes takes its terms along. Terms are letters, marks and digits alone: nothing in
them means anything to either query language.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, cast, column, func, select, table
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR
from sqlalchemy.orm import undefer

from ledger.rules.query import Phrase
from ledger.store import dialect
from ledger.store.database import Tx
from ledger.store.models import Crawl, Page
from ledger.store.models_artifacts import PageText


@dataclass(frozen=True)
class Matches:
    """The best (page text, page), and how many there are in all."""

    rows: Sequence[Row[PageText, Page]]
    total: int


def keep(
    tx: Tx, *, page_id: str, title: str, body: str, terms: Sequence[str], problem: str | None, at: datetime
) -> None:
    """Index a page, or note why it cannot be."""
    row = {
        "page_id": page_id,
        "title": title,
        "text": body,
        "terms": f" {' '.join(terms)} ",
        "problem": problem,
        "indexed_at": at,
    }
    dialect.upsert(tx, PageText, [row], ["page_id"], ["title", "text", "terms", "problem", "indexed_at"])


def search(tx: Tx, phrases: Sequence[Phrase], *, limit: int, organizations: Sequence[str] | None) -> Matches:
    """Pages that have every phrase, the most relevant first, newer before older; of these organisations alone."""
    query, rank = _matching(tx, phrases)
    query = query.join(Page, Page.id == PageText.page_id)
    if organizations is not None:
        query = query.join(Crawl, Crawl.id == Page.crawl_id).where(Crawl.organization.in_(list(organizations)))
    total = tx.scalar(query.with_only_columns(func.count()).order_by(None)) or 0
    found = query.add_columns(Page).options(undefer(PageText.text)).order_by(rank, PageText.id.desc()).limit(limit)
    return Matches(tx.execute(found).all(), total)


def _matching(tx: Tx, phrases: Sequence[Phrase]) -> tuple[Select[PageText], ColumnElement[Any]]:
    if tx.get_bind().dialect.name == "postgresql":
        return _in_postgresql(phrases)
    return _in_sqlite(phrases)


def _in_sqlite(phrases: Sequence[Phrase]) -> tuple[Select[PageText], ColumnElement[Any]]:
    index = table("page_text_fts", column("rowid"), column("rank"), column("page_text_fts"))
    match = " AND ".join(f'"{" ".join(phrase.terms)}"' + (" *" if phrase.open_end else "") for phrase in phrases)
    query = select(PageText).join(index, index.c.rowid == PageText.id).where(index.c.page_text_fts.op("MATCH")(match))
    return query, index.c.rank


def _in_postgresql(phrases: Sequence[Phrase]) -> tuple[Select[PageText], ColumnElement[Any]]:
    index = table("page_text_fts", column("id"), column("vector", TSVECTOR))
    wanted = " & ".join(
        f"'{term}'" + (":*" if phrase.open_end and place == len(phrase.terms) else "")
        for phrase in phrases
        for place, term in enumerate(phrase.terms, start=1)
    )
    asked = cast(wanted, TSQUERY)
    query = select(PageText).join(index, index.c.id == PageText.id).where(index.c.vector.op("@@")(asked))
    for phrase in phrases:
        # A vector knows which terms a page has; that they stand one behind the other is seen in the terms themselves.
        if len(phrase.terms) > 1:
            tail = "%" if phrase.open_end else " %"
            query = query.where(PageText.terms.like(f"% {' '.join(phrase.terms)}{tail}"))
    return query, func.ts_rank(index.c.vector, asked).desc()
