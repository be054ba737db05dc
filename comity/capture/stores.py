"""Which store the settings name: exactly one of a folder and a bucket."""

from pydantic import ValidationError

from comity.capture.folder_store import FolderStore
from comity.capture.s3_settings import PREFIX, S3Settings
from comity.capture.s3_store import S3Store
from comity.capture.settings import Settings
from comity.capture.store import Store, StoreUnusableError


def read_store(settings: Settings) -> Store:
    """The store, not yet asked for anything. Raises StoreUnusableError naming each setting that is wrong."""
    try:
        bucket = S3Settings()
    except ValidationError as error:
        raise StoreUnusableError("; ".join(_line(item["loc"], item["msg"]) for item in error.errors())) from None
    if bucket.bucket is None:
        if settings.store is None:
            raise StoreUnusableError(f"CAPTURE_STORE: name the folder for artifacts, or a bucket by {PREFIX}BUCKET")
        return FolderStore(settings.store, silence_ms=settings.store_silence_ms)
    if settings.store is not None:
        raise StoreUnusableError(
            f"CAPTURE_STORE={settings.store} and {PREFIX}BUCKET={bucket.bucket} are both set: choose one"
        )
    return S3Store(bucket, silence_ms=settings.store_silence_ms)


def _line(loc: tuple[int | str, ...], message: str) -> str:
    name = f"{PREFIX}{'.'.join(str(part) for part in loc).upper()}: " if loc else ""
    return f"{name}{message.removeprefix('Value error, ')}"
