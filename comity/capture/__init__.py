"""The capture server: one process, one browser, one page at a time; `python -m comity.capture`.

No queue, no retries, no roster of scripts: whoever calls decides what is captured, where and when.

Page scripts arrive as JavaScript that runs as a classic script. `preload` scripts run in every frame before the page's
own. `behaviors` run in the main frame after load, one after the other; a script whose value is a promise is awaited.
They find the receptacle `globalThis.__bh`:

    opts: Record<string, unknown>      the options of every script of this capture, by script id
    remainingMs(): number              milliseconds left of the behaviors' budget
    report(id: string, data: unknown)  keeps one JSON value per script (the last one told, at most 64 KiB)

With no behaviors there is no `__bh`, and with no scripts nothing of ours is in the page's world.
"""
