// Takes consent banners out of the way, in an isolated world: the page's own globals never see this.
// Called with {frameworks: [{name, banner, refuse}], selectors: [], heuristic: {ratio, zIndex} | null, patienceMs}.
// Returns, as JSON, {dismissed: [{by, how, selector, framework?, coverageRatio?}], errors: []}.
(async (wanted) => {
  const MAX_OVERLAYS = 4, MAX_ANCESTORS = 64, GRID = 5, LITTLE_TEXT = 400;
  const dismissed = [], errors = [];
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  function all(selector) {
    try {
      return [...document.querySelectorAll(selector)];
    } catch {
      errors.push(`not a selector: ${selector.slice(0, 200)}`);
      return [];
    }
  }

  function shown(element) {
    if (!element.isConnected || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) return false;
    const box = element.getBoundingClientRect();
    // A host of no size of its own may hold a banner that has one.
    return (box.width > 1 && box.height > 1) || element.shadowRoot !== null || element.childElementCount > 0;
  }

  function hide(element) {
    if (element.matches('dialog:modal')) element.close();
    element.style.setProperty('display', 'none', 'important');
  }

  // Banners stop the page beneath them from scrolling, and forget to let go when they are hidden from outside.
  function unlock() {
    for (const element of [document.documentElement, document.body]) {
      if (!element) continue;
      const style = getComputedStyle(element);
      if (style.overflowY === 'hidden' || style.overflowY === 'clip') element.style.setProperty('overflow', 'auto', 'important');
      if (style.position === 'fixed') element.style.setProperty('position', 'static', 'important');
    }
  }

  async function refuse(selector, banner) {
    const button = all(selector).find(shown);
    if (!button) return false;
    button.click();
    const ends = performance.now() + wanted.patienceMs;
    while (performance.now() < ends) {
      await pause(25);
      if (!all(banner).some(shown)) return true;
    }
    return false;
  }

  async function known(framework) {
    if (!all(framework.banner).some(shown)) return;
    const refused = framework.refuse !== null && await refuse(framework.refuse, framework.banner);
    if (!refused) all(framework.banner).forEach(hide);
    dismissed.push({
      by: 'framework', framework: framework.name, how: refused ? 'refused' : 'hidden',
      selector: refused ? framework.refuse : framework.banner,
    });
  }

  function nameOf(element) {
    const id = element.id ? '#' + CSS.escape(element.id) : '';
    const classes = [...element.classList].slice(0, 3).map((name) => '.' + CSS.escape(name)).join('');
    return (element.localName + id + classes).slice(0, 200);
  }

  function coverageOf(element) {
    const box = element.getBoundingClientRect();
    const width = Math.min(box.right, innerWidth) - Math.max(box.left, 0);
    const height = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
    return Math.max(0, width) * Math.max(0, height) / Math.max(1, innerWidth * innerHeight);
  }

  // An application may live in one large fixed element: what holds most of the page's text is the page.
  function isThePage(element) {
    const own = (element.innerText || '').length;
    return own > LITTLE_TEXT && own > (document.body.innerText || '').length / 2;
  }

  function overlays({ratio, zIndex}) {
    const found = new Map();
    const consider = (element) => {
      const style = getComputedStyle(element);
      const modal = element.matches('dialog:modal');
      if (!modal && (style.position !== 'fixed' || !(Number(style.zIndex) >= zIndex))) return;
      const coverage = coverageOf(element);
      if (coverage >= ratio && !isThePage(element)) found.set(element, coverage);
    };
    const look = (root, x, y) => {
      for (const start of root.elementsFromPoint(x, y)) {
        if (start.shadowRoot && start.shadowRoot !== root) look(start.shadowRoot, x, y);
        let element = start;
        for (let depth = 0; element && depth < MAX_ANCESTORS; depth += 1) {
          if (element === document.body || element === document.documentElement) break;
          if (!found.has(element)) consider(element);
          element = element.parentElement;
        }
      }
    };
    for (let column = 0; column < GRID; column += 1) {
      for (let row = 0; row < GRID; row += 1) look(document, innerWidth * (column + 0.5) / GRID, innerHeight * (row + 0.5) / GRID);
    }
    return [...found].slice(0, MAX_OVERLAYS);
  }

  for (const framework of wanted.frameworks) await known(framework);
  for (const selector of wanted.selectors) {
    const matches = all(selector).filter(shown);
    matches.forEach(hide);
    if (matches.length > 0) dismissed.push({by: 'selector', how: 'hidden', selector});
  }
  if (wanted.heuristic !== null && document.body) {
    for (const [element, coverage] of overlays(wanted.heuristic)) {
      const selector = nameOf(element);
      hide(element);
      dismissed.push({by: 'heuristic', how: 'hidden', selector, coverageRatio: Math.round(coverage * 1000) / 1000});
    }
  }
  if (dismissed.length > 0) unlock();
  return JSON.stringify({dismissed, errors});
})
