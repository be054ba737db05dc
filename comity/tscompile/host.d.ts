/**
 * The receptacle that behaviors find in the page (`globalThis.__bh`).
 *
 * It exists while behaviors run: in the main frame, after load. Preload scripts are checked in the same program and
 * so may name it, but it is not there yet when they run.
 */
interface BehaviorHost {
  /** Options by script id, as the crawl pinned them. Read with a default: `__bh.opts["my-id"]?.["limit"] ?? 10`. */
  readonly opts: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Milliseconds that are left for this script. Zero or less: stop now. */
  remainingMs(): number;
  /** Keeps one line (JSON, at most 64 KiB) in the archive as the page's own claim; once per script. */
  report(id: string, data: unknown): void;
}

// `var`, because only a `var` is also a property of `globalThis`, and scripts may write either.
declare var __bh: BehaviorHost;
