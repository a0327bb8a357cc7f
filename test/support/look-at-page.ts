/**
 * What a page in a browser lacks for people: looked at as it is shown, by rules of WCAG 2.2 that need no judgement. Runs in the
 * page; answers one sentence for each fault.
 */
import type { Page } from 'playwright-core';

/** WCAG 1.4.3, for text of every size. */
const CONTRAST_MIN = 4.5;

export async function faultsOfPage(page: Page): Promise<string[]> {
  // What can be opened is looked at, too; a reference has hundreds of one kind. A call of its own: scripts of the page may fill it in.
  await page.evaluate(() => {
    for (const details of [...document.querySelectorAll('details')].slice(0, 5)) details.open = true;
  });
  return page.evaluate((contrastMin) => {
    const faults: string[] = [];
    const all = <E extends Element = HTMLElement>(selector: string) => [...document.querySelectorAll<E>(selector)];
    const shown = (element: Element) => element.checkVisibility({ visibilityProperty: true });
    const nameOf = (element: Element) => element.outerHTML.slice(0, 120);

    if (document.title.trim() === '') faults.push('The page has no title.');
    if (!/^[a-z]{2}/.test(document.documentElement.lang)) faults.push('The page has no language.');
    for (const one of ['h1', 'main, [role=main]'])
      if (all(one).filter(shown).length !== 1) faults.push(`${all(one).filter(shown).length} of ${one}, not one.`);
    const overflow = document.documentElement.scrollWidth - innerWidth;
    const widest = () => all('body *').filter((element) => element.getBoundingClientRect().right > innerWidth + 1);
    if (overflow > 0)
      faults.push(`It is ${overflow} px wider than the window: ${widest().slice(0, 3).map(nameOf).join(' ')}`);

    const labelOf = (element: Element) =>
      [
        ...('labels' in element
          ? [...((element as HTMLInputElement).labels ?? [])].map((label) => label.textContent)
          : []),
        ...['aria-label', 'title', 'alt'].map((name) => element.getAttribute(name)),
        ...(element.getAttribute('aria-labelledby') ?? '')
          .split(' ')
          .map((id) => document.getElementById(id)?.textContent),
        ...(element.matches('button, a, summary') ? [element.textContent] : []),
        ...[...element.querySelectorAll('img')].map(({ alt }) => alt),
      ]
        .join('')
        .trim();
    for (const element of all('input:not([type=hidden]), select, textarea, button, a[href], summary, iframe').filter(
      shown,
    ))
      if (labelOf(element) === '') faults.push(`It has no label: ${nameOf(element)}`);
    for (const image of all('img:not([alt])').filter(shown)) faults.push(`It has no alt: ${nameOf(image)}`);
    const ids = all('[id]').map(({ id }) => id);
    for (const id of new Set(ids.filter((one, at) => ids.indexOf(one) !== at)))
      faults.push(`The id ${id} is there twice.`);

    type Color = readonly [red: number, green: number, blue: number, alpha: number];
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const known = new Map<string, Color>();
    // Whatever form it is written in: as it is painted.
    const parse = (text: string): Color => {
      const before = known.get(text);
      if (before || !canvas) return before ?? [0, 0, 0, 1];
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [red = 0, green = 0, blue = 0, alpha = 0] = canvas.getImageData(0, 0, 1, 1).data;
      const color: Color = [red, green, blue, alpha / 255];
      known.set(text, color);
      return color;
    };
    const over = ([r, g, b, a]: Color, [R, G, B]: Color): Color => [
      r * a + R * (1 - a),
      g * a + G * (1 - a),
      b * a + B * (1 - a),
      1,
    ];
    const paper = document.createElement('div');
    paper.style.backgroundColor = 'Canvas';
    document.body.append(paper);
    const base = parse(getComputedStyle(paper).backgroundColor);
    paper.remove();
    const behind = (element: Element | null): Color => {
      if (!element) return base;
      const color = parse(getComputedStyle(element).backgroundColor);
      return color[3] === 1 ? color : over(color, behind(element.parentElement));
    };
    const opacityOf = (element: Element | null): number =>
      element ? Number(getComputedStyle(element).opacity) * opacityOf(element.parentElement) : 1;
    const luminance = ([r, g, b]: Color) => {
      const [x = 0, y = 0, z = 0] = [r, g, b].map((part) =>
        part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
      );
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const looked = new Set<string>();
    const lookAt = (element: Element, ink: string) => {
      const ground = behind(element);
      const [r, g, b, a] = parse(ink);
      const [light = 1, dark = 0] = [
        luminance(over([r, g, b, a * opacityOf(element)], ground)),
        luminance(ground),
      ].toSorted((x, y) => y - x);
      const contrast = (light + 0.05) / (dark + 0.05);
      const kind = `${ink} on ${ground.slice(0, 3).map(Math.round).join(' ')}`;
      if (contrast >= contrastMin || looked.has(kind)) return;
      looked.add(kind);
      faults.push(`A contrast of ${contrast.toFixed(2)}, ${kind}: ${nameOf(element)}`);
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      const element = text.parentElement;
      if (element && text.nodeValue?.trim() && shown(element) && !element.closest('script, style, :disabled'))
        lookAt(element, getComputedStyle(element).color);
    }
    for (const field of all<HTMLInputElement>('input:enabled, select:enabled, textarea:enabled').filter(shown)) {
      lookAt(field, getComputedStyle(field).color);
      if (field.placeholder) lookAt(field, getComputedStyle(field, '::placeholder').color);
    }
    return faults;
  }, CONTRAST_MIN);
}
