// autoscroll: scrolls down step by step until the bottom stays where it is, so that what loads on sight is loaded,
// then returns to where it began. Large inner containers that scroll by themselves are scrolled too.
//
// Options (all optional): see `DEFAULTS` below. A value of the wrong type or out of range is replaced by its default
// and named in the report, so that a typing mistake costs one option and not the capture.
(async () => {
  const ID = "autoscroll";

  const DEFAULTS = {
    /** Steps over all containers together. */
    maxSteps: 200,
    /** The script's own time limit; what the capture has left always limits it too. */
    maxMs: 20_000,
    /** Pixels per step; 0: a share of what is visible, `stepRatio`. */
    stepPx: 0,
    stepRatio: 0.9,
    /** Rest after each step, for what the step brought into view to be asked for. */
    pauseMs: 120,
    /** Rests that the bottom must outlast to count as the bottom. */
    bottomPauses: 4,
    /** How often a container may grow after its bottom was reached, and by how many pixels in all: then it is endless. */
    maxGrowths: 20,
    maxGrownPx: 60_000,
    /** Scroll inner containers too, where they cover at least this share of the viewport. */
    containers: true,
    minContainerRatio: 0.4,
    /** Go back to where each container stood before. */
    returnToTop: true,
  };
  const RANGES: Readonly<Record<string, readonly [number, number]>> = {
    maxSteps: [1, 10_000],
    maxMs: [0, 120_000],
    stepPx: [0, 10_000],
    stepRatio: [0.05, 1],
    pauseMs: [0, 5_000],
    bottomPauses: [1, 50],
    maxGrowths: [0, 1_000],
    maxGrownPx: [0, 10_000_000],
    minContainerRatio: [0, 1],
  };
  /** Kept back from the capture's time for the way back up and the report. */
  const RESERVE_MS = 500;
  const MAX_ELEMENTS_LOOKED_AT = 20_000;
  const MAX_CONTAINERS = 5;

  type Options = typeof DEFAULTS;
  type Cut = "maxSteps" | "maxMs" | "deadline" | "endless" | "stuck";

  const ignoredOptions: string[] = [];

  function readOptions(): Options {
    const given: Readonly<Record<string, unknown>> = __bh.opts[ID] ?? {};
    const options: Record<string, number | boolean> = { ...DEFAULTS };
    for (const [name, value] of Object.entries(given)) {
      const standard: unknown = (DEFAULTS as Record<string, unknown>)[name];
      const range = RANGES[name];
      if (typeof value === "boolean" && typeof standard === "boolean") {
        options[name] = value;
      } else if (typeof value === "number" && range !== undefined && value >= range[0] && value <= range[1]) {
        options[name] = value;
      } else {
        ignoredOptions.push(name.slice(0, 64));
      }
    }
    return options as Options;
  }

  const options = readOptions();
  const startedAt = performance.now();
  let steps = 0;
  let cutBy: Cut | null = null;

  const elapsedMs = (): number => performance.now() - startedAt;
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  /** Whether a limit for the whole script has been reached; notes which. */
  function over(): boolean {
    if (steps >= options.maxSteps) cutBy = "maxSteps";
    else if (elapsedMs() >= options.maxMs) cutBy = "maxMs";
    else if (__bh.remainingMs() <= RESERVE_MS) cutBy = "deadline";
    else return false;
    return true;
  }

  function jump(container: Element, top: number): void {
    // `instant`: a page's `scroll-behavior: smooth` would turn each step into an animation that outlasts the pause.
    container.scrollTo({ top, behavior: "instant" });
  }

  const atBottom = (container: Element): boolean =>
    container.scrollTop + container.clientHeight >= container.scrollHeight - 2;

  /** Scrolls one container down. True when its bottom stayed where it is. */
  async function toBottom(container: Element): Promise<boolean> {
    const firstHeight = container.scrollHeight;
    let pausesAtBottom = 0;
    let growths = 0;
    let stuck = 0;
    while (!over()) {
      if (atBottom(container)) {
        pausesAtBottom += 1;
        if (pausesAtBottom > options.bottomPauses) return true;
        await pause(options.pauseMs);
        continue;
      }
      if (pausesAtBottom > 0) growths += 1;
      pausesAtBottom = 0;
      if (growths > options.maxGrowths || container.scrollHeight - firstHeight > options.maxGrownPx) {
        cutBy = "endless";
        return false;
      }
      const before = container.scrollTop;
      jump(container, before + (options.stepPx || Math.max(1, container.clientHeight * options.stepRatio)));
      steps += 1;
      await pause(options.pauseMs);
      stuck = container.scrollTop > before ? 0 : stuck + 1;
      if (stuck >= 3) {
        cutBy = "stuck";
        return false;
      }
    }
    return false;
  }

  /** Containers that scroll by themselves and are large enough to matter, the largest first. */
  function innerContainers(root: Element): Element[] {
    const wanted = innerWidth * innerHeight * options.minContainerRatio;
    const found: Element[] = [];
    for (const element of [...document.body.querySelectorAll("*")].slice(0, MAX_ELEMENTS_LOOKED_AT)) {
      if (element === root || element.scrollHeight <= element.clientHeight + 2) continue;
      if (element.clientWidth * element.clientHeight < wanted) continue;
      const overflow = getComputedStyle(element).overflowY;
      if (overflow === "auto" || overflow === "scroll" || overflow === "overlay") found.push(element);
    }
    const area = (element: Element): number => element.clientWidth * element.clientHeight;
    return found.sort((one, other) => area(other) - area(one)).slice(0, MAX_CONTAINERS);
  }

  const root = document.scrollingElement ?? document.documentElement;
  const heightBefore = root.scrollHeight;
  const visited = [{ element: root, top: root.scrollTop }];
  let reachedBottom = await toBottom(root);

  if (options.containers && document.body !== null) {
    for (const element of innerContainers(root)) {
      if (over()) {
        reachedBottom = false;
        break;
      }
      visited.push({ element, top: element.scrollTop });
      reachedBottom = (await toBottom(element)) && reachedBottom;
    }
  }

  const heightAfter = root.scrollHeight;
  if (options.returnToTop) {
    for (const { element, top } of visited) jump(element, top);
  }
  __bh.report(ID, {
    steps,
    reachedBottom,
    cutBy,
    heightBefore,
    heightAfter,
    containers: visited.length - 1,
    ms: Math.round(elapsedMs()),
    ...(ignoredOptions.length > 0 ? { ignoredOptions } : {}),
  });
})();
