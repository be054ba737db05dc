"""The script compiler: checks a crawl's TypeScript as one program and answers with the JavaScript that pages run.

`python -m comity.tscompile` serves `POST /compile` and `GET /healthz` (wire models: `comity.contract.compiler`).
Nothing is kept between calls but a cache by content; every check is one native process in a folder of its own.

Answers of `POST /compile`; every one but 200 names its kind in the header `x-amzn-errortype` and has a `message`:

    200                         JavaScript for all scripts; `cached` where the same sources were compiled before
    400 ValidationException     `fieldList` of JSON Pointers; also a body that is no JSON, too large or too slow
    401 Unauthorized            where TSCOMPILE_TOKEN is set and the bearer token is another
    403 ForeignOrigin           a web page calls (the request has an `Origin`)
    409 SourceHashMismatch      `id` of the first script whose `sha256` is not its source's
    422 CompileFailed           `diagnostics`, at most 1,000; the message tells how many there were
    429 Busy                    no free place within TSCOMPILE_MAX_WAIT_MS
    500 InternalFailure         the compiler itself failed

Diagnostics carry TypeScript's codes, and these of ours: `no-modules`, `no-ts-nocheck`, `no-reference` for what a script
must not hold, and `time-limit`, `memory-limit`, `output-limit` (of no file) for a check that was ended at its limit.

All scripts of a request are one program, preload and behavior alike: they share types and names, as they share the
page's global scope. `@ts-ignore` and `@ts-expect-error` may hide an error of types, never syntax that is refused.
"""
