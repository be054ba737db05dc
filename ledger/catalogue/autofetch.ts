// autofetch: makes the browser load what the page offers but this browser, at this size and density, would not ask
// for: every candidate of `srcset`, lazy images, what style sheets name for other media, posters, icons. What is loaded
// is recorded, and so a replay on another screen finds it.
//
// Pictures are loaded as pictures (`new Image()`): the same request that a replay will make, `Accept` included, and
// complete when it reports. Everything else is fetched. Options (all optional): see `DEFAULTS` below; a value that
// does not fit is replaced by its default and named in the report.
(async () => {
  const ID = "autofetch";

  type Kind = "srcset" | "data" | "css" | "poster" | "link" | "media";
  type Loader = "image" | "fetch";
  type Cut = "maxUrls" | "maxMs" | "deadline";

  const KINDS: readonly Kind[] = ["srcset", "data", "css", "poster", "link", "media"];
  const DEFAULTS = {
    /** All but `media` (sound and film), which is large. */
    kinds: ["srcset", "data", "css", "poster", "link"] as readonly Kind[],
    maxUrls: 500,
    /** The script's own time limit; what the capture has left always limits it too. */
    maxMs: 30_000,
    /** One address may take this long. */
    urlTimeoutMs: 10_000,
    concurrency: 6,
    /** Only addresses of the page's own origin. */
    sameOriginOnly: false,
  };
  const RANGES: Readonly<Record<string, readonly [number, number]>> = {
    maxUrls: [0, 10_000],
    maxMs: [0, 120_000],
    urlTimeoutMs: [1, 120_000],
    concurrency: [1, 32],
  };
  /** Kept back from the capture's time for the report. */
  const RESERVE_MS = 500;
  const MAX_ELEMENTS_LOOKED_AT = 50_000;
  const MAX_NAMED_FAILURES = 20;
  const PICTURE_DATA = /^data-(?:[a-z0-9]+-)*(?:src|srcset|original|original-set|lazy|lazyload|bg|bgset|bg-image|background|background-image|image|img|poster|thumb|thumbnail|retina|hires|full|large|zoom-image)$|^data-lazy-/;
  const ICON_RELS = new Set(["icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "fluid-icon"]);
  const NOT_A_PICTURE = new Set(["IFRAME", "FRAME", "EMBED", "OBJECT", "SCRIPT", "FORM"]);

  type Options = typeof DEFAULTS;
  const ignoredOptions: string[] = [];

  function readOptions(): Options {
    const given: Readonly<Record<string, unknown>> = __bh.opts[ID] ?? {};
    const options: Record<string, unknown> = { ...DEFAULTS };
    for (const [name, value] of Object.entries(given)) {
      const range = RANGES[name];
      if (name === "kinds" && Array.isArray(value) && value.every((kind) => KINDS.includes(kind))) {
        options[name] = value;
      } else if (name === "sameOriginOnly" && typeof value === "boolean") {
        options[name] = value;
      } else if (typeof value === "number" && range !== undefined && value >= range[0] && value <= range[1]) {
        options[name] = name === "maxMs" || name === "urlTimeoutMs" ? value : Math.floor(value);
      } else {
        ignoredOptions.push(name.slice(0, 64));
      }
    }
    return options as Options;
  }

  const options = readOptions();
  const startedAt = performance.now();
  const elapsedMs = (): number => performance.now() - startedAt;

  // --- What the page offers ---------------------------------------------------------------------------------------

  /** Absolute http(s) address without fragment, to the way of loading it. Insertion order is loading order. */
  const offered = new Map<string, Loader>();
  let unreadableSheets = 0;

  function offer(kind: Kind, value: string, base: string, loader: Loader): void {
    if (!options.kinds.includes(kind)) return;
    const trimmed = value.trim();
    if (trimmed === "" || trimmed.startsWith("#") || !URL.canParse(trimmed, base)) return;
    const url = new URL(trimmed, base);
    if (url.protocol !== "http:" && url.protocol !== "https:") return;
    url.hash = "";
    if (!offered.has(url.href)) offered.set(url.href, loader);
  }

  /** HTML, "parse a srcset attribute": commas belong to an address unless they end it; descriptors may hold brackets. */
  function srcsetUrls(text: string): string[] {
    const urls: string[] = [];
    const isSpace = (character: string | undefined): boolean => character !== undefined && /[\t\n\f\r ]/.test(character);
    let at = 0;
    while (at < text.length) {
      while (isSpace(text[at]) || text[at] === ",") at += 1;
      const start = at;
      while (at < text.length && !isSpace(text[at])) at += 1;
      const url = text.slice(start, at);
      if (url === "") break;
      if (url.endsWith(",")) {
        urls.push(url.replace(/,+$/, ""));
        continue;
      }
      const from = at;
      for (let depth = 0; at < text.length && (depth > 0 || text[at] !== ","); at += 1) {
        if (text[at] === "(") depth += 1;
        else if (text[at] === ")" && depth > 0) depth -= 1;
      }
      if (areDescriptors(text.slice(from, at))) urls.push(url);
    }
    return urls;
  }

  /** A candidate whose descriptors are in error is no candidate: no browser will ever ask for it. */
  function areDescriptors(text: string): boolean {
    const parts = text.split(/[\t\n\f\r ]+/).filter((part) => part !== "");
    const seen = new Set<string>();
    for (const part of parts) {
      const unit = part.slice(-1);
      const valid =
        unit === "x" ? /^-?(?:\d+|\d*\.\d+)(?:[eE][+-]?\d+)?x$/.test(part) && parseFloat(part) >= 0 : /^0*[1-9]\d*[wh]$/.test(part);
      if (!valid || seen.has(unit)) return false;
      seen.add(unit);
    }
    return !(seen.has("x") && seen.size > 1) && !(seen.has("h") && !seen.has("w"));
  }

  function offerSrcset(kind: Kind, value: string, base: string): void {
    for (const url of srcsetUrls(value)) offer(kind, url, base, "image");
  }

  const cssUnescaped = (text: string): string =>
    text.replace(/\\(?:([0-9a-fA-F]{1,6})[ \t\n\f\r]?|\r\n|([\s\S]))/g, (_all, hex?: string, character?: string) => {
      if (hex === undefined) return character === undefined || character === "\n" ? "" : character;
      const code = parseInt(hex, 16);
      return code === 0 || code > 0x10ffff ? "\ufffd" : String.fromCodePoint(code);
    });

  /** The `url(…)`s of a piece of CSS, and the bare strings of `image-set(…)`. Comments and other strings are stepped over. */
  function cssUrls(text: string): string[] {
    const token =
      /\/\*[\s\S]*?\*\/|url\(\s*(?:"((?:\\[\s\S]|[^"\\])*)"|'((?:\\[\s\S]|[^'\\])*)'|((?:\\[\s\S]|[^\s"'()\\])*))\s*\)|(image-set|[-\w]*)\(|"((?:\\[\s\S]|[^"\\])*)"|'((?:\\[\s\S]|[^'\\])*)'|\)/gi;
    const urls: string[] = [];
    const open: string[] = [];
    for (const match of text.matchAll(token)) {
      const [all, double, single, bare, called, ...strings] = match;
      const url = double ?? single ?? bare;
      const string = strings[0] ?? strings[1];
      if (url !== undefined) urls.push(cssUnescaped(url));
      else if (called !== undefined) open.push(called.toLowerCase());
      else if (all === ")") open.pop();
      else if (string !== undefined && /image-set$/.test(open.at(-1) ?? "")) urls.push(cssUnescaped(string));
    }
    return urls;
  }

  function offerRules(rules: CSSRuleList, base: string, seen: Set<CSSStyleSheet>): void {
    for (const rule of rules) {
      if (rule instanceof CSSImportRule) {
        if (rule.styleSheet !== null) offerSheet(rule.styleSheet, seen);
      } else if (rule instanceof CSSNamespaceRule) {
        continue; // its url() is a name
      } else if ("cssRules" in rule && !(rule instanceof CSSStyleRule) && !(rule instanceof CSSKeyframesRule)) {
        offerRules((rule as CSSGroupingRule).cssRules, base, seen);
      } else {
        const loader = rule instanceof CSSFontFaceRule ? "fetch" : "image";
        for (const url of cssUrls(rule.cssText)) offer("css", url, base, loader);
      }
    }
  }

  const foreignSheets: string[] = [];

  function offerSheet(sheet: CSSStyleSheet, seen: Set<CSSStyleSheet>): void {
    if (seen.has(sheet)) return;
    seen.add(sheet);
    const base = sheet.href ?? document.baseURI;
    let rules: CSSRuleList;
    try {
      rules = sheet.cssRules;
    } catch {
      if (sheet.href !== null) foreignSheets.push(sheet.href); // of another origin: its rules are closed to scripts
      return;
    }
    offerRules(rules, base, seen);
  }

  /** A sheet of another origin can be read where that origin allows it (CORS); else it is counted. */
  async function offerForeignSheet(href: string): Promise<void> {
    try {
      const signal = AbortSignal.timeout(Math.max(1, Math.min(options.urlTimeoutMs, timeLeftMs())));
      const response = await fetch(href, { mode: "cors", credentials: "omit", cache: "force-cache", signal });
      if (!response.ok) throw new Error(`status ${response.status}`);
      for (const block of (await response.text()).split("}")) {
        const loader = /@font-face\b/i.test(block) ? "fetch" : "image";
        for (const url of cssUrls(block.replace(/@namespace[^;]*;/gi, ""))) offer("css", url, href, loader);
      }
    } catch {
      unreadableSheets += 1;
    }
  }

  function offerData(element: Element): void {
    if (NOT_A_PICTURE.has(element.tagName)) return;
    const kind: Kind = element.closest("video, audio") === null ? "data" : "media";
    for (const { name, value } of element.attributes) {
      if (!PICTURE_DATA.test(name) || value.length > 16_384) continue;
      const text = value.trim();
      if (/set$/.test(name)) offerSrcset("data", text, document.baseURI);
      else if (/url\(/i.test(text)) for (const url of cssUrls(text)) offer("data", url, document.baseURI, "image");
      else if (/[./]/.test(text) && !/^[\d.]+$|^[[{<.#]|[\s<>"]/.test(text.replace(/^\.{1,2}\//, ""))) {
        offer(name === "data-poster" ? "poster" : kind, text, document.baseURI, kind === "media" ? "fetch" : "image");
      }
    }
  }

  function offerElement(element: Element): void {
    const base = document.baseURI;
    const attribute = (name: string): string => element.getAttribute(name) ?? "";
    if (element.tagName === "IMG" || (element.tagName === "SOURCE" && element.parentElement?.tagName === "PICTURE")) {
      offerSrcset("srcset", attribute("srcset"), base);
      if (element.tagName === "IMG") offer("srcset", attribute("src"), base, "image");
    } else if (element.tagName === "VIDEO" || element.tagName === "AUDIO" || element.tagName === "SOURCE") {
      offer("poster", attribute("poster"), base, "image");
      offer("media", attribute("src"), base, "fetch");
    } else if (element.tagName === "LINK") {
      const rels = attribute("rel").toLowerCase().split(/\s+/);
      const preload = rels.includes("preload") && attribute("as") !== "document";
      const icon = rels.some((rel) => ICON_RELS.has(rel));
      if (preload || icon) offer("link", attribute("href"), base, icon || attribute("as") === "image" ? "image" : "fetch");
      if (preload) offerSrcset("link", attribute("imagesrcset"), base);
    } else if (element.tagName === "NOSCRIPT") {
      offerNoscript(element);
    }
    const style = attribute("style");
    if (/url\(|image-set\(/i.test(style)) for (const url of cssUrls(style)) offer("css", url, base, "image");
    offerData(element);
  }

  /** What lazy loaders leave for browsers without scripts; counting pixels are no pictures and stay unasked. */
  function offerNoscript(element: Element): void {
    const inert = new DOMParser().parseFromString(element.textContent ?? "", "text/html");
    for (const image of inert.querySelectorAll("img")) {
      const isPixel = ["width", "height"].some((side) => /^[01](?:px)?$/.test(image.getAttribute(side) ?? ""));
      if (isPixel || /display:\s*none/.test(image.getAttribute("style") ?? "")) continue;
      offer("data", image.getAttribute("src") ?? "", document.baseURI, "image");
      offerSrcset("data", image.getAttribute("srcset") ?? "", document.baseURI);
    }
  }

  /** Everything that the document and its open shadow trees offer. */
  async function look(): Promise<void> {
    const sheets = new Set<CSSStyleSheet>();
    const roots: (Document | ShadowRoot)[] = [document];
    let looked = 0;
    for (let root = roots.shift(); root !== undefined; root = roots.shift()) {
      for (const element of root.querySelectorAll("*")) {
        looked += 1;
        if (looked > MAX_ELEMENTS_LOOKED_AT) break;
        offerElement(element);
        if (element.shadowRoot !== null) roots.push(element.shadowRoot);
      }
      if (options.kinds.includes("css")) {
        for (const sheet of [...root.styleSheets, ...root.adoptedStyleSheets]) offerSheet(sheet, sheets);
      }
    }
    await Promise.all(foreignSheets.map(offerForeignSheet));
  }

  // --- Loading ----------------------------------------------------------------------------------------------------

  const timeLeftMs = (): number => Math.min(options.maxMs - elapsedMs(), __bh.remainingMs() - RESERVE_MS);

  function loadedAlready(): Set<string> {
    const loaded = new Set<string>([document.URL.replace(/#.*$/s, "")]);
    for (const entry of performance.getEntriesByType("resource")) loaded.add(entry.name.replace(/#.*$/s, ""));
    return loaded;
  }

  function loadImage(url: string, ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const image = new Image();
      const end = (loaded: boolean): void => {
        clearTimeout(timer);
        image.onload = image.onerror = null;
        if (!loaded) image.removeAttribute("src"); // lets go of a request that is still under way
        resolve(loaded);
      };
      const timer = setTimeout(() => end(false), ms);
      image.onload = () => end(true);
      image.onerror = () => end(false);
      image.decoding = "async";
      image.src = url;
    });
  }

  async function loadByFetch(url: string, ms: number): Promise<boolean> {
    try {
      const response = await fetch(url, {
        mode: "no-cors",
        credentials: "include",
        cache: "force-cache",
        signal: AbortSignal.timeout(ms),
      });
      const reader = response.body?.getReader();
      while (reader !== undefined && !(await reader.read()).done); // to the end, else the record has no body
      return response.ok || response.type === "opaque";
    } catch {
      return false;
    }
  }

  let cutBy: Cut | null = null;
  let fetched = 0;
  let skipped = 0;
  const failures: string[] = [];

  async function loadAll(queue: [string, Loader][]): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const left = timeLeftMs();
      if (left <= 0) {
        cutBy = __bh.remainingMs() <= RESERVE_MS ? "deadline" : "maxMs";
        queue.unshift(next);
        return;
      }
      const [url, loader] = next;
      const ms = Math.min(left, options.urlTimeoutMs);
      if (await (loader === "image" ? loadImage(url, ms) : loadByFetch(url, ms))) fetched += 1;
      else failures.push(url);
    }
  }

  await look();
  const loaded = loadedAlready();
  const wanted = [...offered].filter(([url]) => {
    const wants = !loaded.has(url) && !(options.sameOriginOnly && new URL(url).origin !== location.origin);
    if (!wants) skipped += 1;
    return wants;
  });
  const queue = wanted.slice(0, options.maxUrls);
  await Promise.all(Array.from({ length: options.concurrency }, () => loadAll(queue)));
  if (cutBy === null && wanted.length > options.maxUrls) cutBy = "maxUrls";

  __bh.report(ID, {
    found: offered.size,
    fetched,
    failed: failures.length,
    skipped,
    left: offered.size - fetched - failures.length - skipped,
    cutBy,
    unreadableSheets,
    ms: Math.round(elapsedMs()),
    ...(failures.length > 0 ? { failures: failures.slice(0, MAX_NAMED_FAILURES).map((url) => url.slice(0, 500)) } : {}),
    ...(ignoredOptions.length > 0 ? { ignoredOptions } : {}),
  });
})();
