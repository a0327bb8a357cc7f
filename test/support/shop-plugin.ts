/** The plugin `acme/shop`, which has a condition for segments: tests in the same process say what it answers. */

/** What the plugin does with a question; the tests set it. */
export interface Shop {
  find(question: Question): unknown;
  asked: Question[];
}
interface Question {
  readonly customerUid: string;
  readonly listUid: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly asOf: Date;
  readonly after: string | null;
  readonly signal: AbortSignal;
}
export const shop: Shop = { find: () => ({ uids: [], next: null }), asked: [] };
Reflect.set(globalThis, 'acmeShop', shop);

export const SHOP_CODE = `
  const shop = globalThis.acmeShop;
  export const plugin = {
    name: 'acme/shop',
    register(hooks) {
      hooks.add('add_translation_file', { language: 'en', texts: { bought: 'Bought something' } });
      hooks.add('add_translation_file', { language: 'de', texts: { bought: 'Hat gekauft' } });
    },
    boot(hooks) {
      hooks.add('segment_condition', {
        name: 'acme_bought',
        label: { key: 'bought' },
        secondsMax: 1,
        parameters: [
          { name: 'days', label: 'Days', type: 'number', isRequired: true, min: 1, max: 365 },
          { name: 'kind', label: 'Kind', type: 'option', options: [{ value: 'book', label: 'Book' }, { value: 'toy', label: 'Toy' }] },
          { name: 'since', label: 'Since', type: 'day' },
          { name: 'word', label: 'Word', type: 'text', max: 5 },
          { name: 'paid', label: 'Paid', type: 'boolean' },
        ],
        find(question) { shop.asked.push(question); return shop.find(question); },
      });
    },
  };`;

/** From now on it answers these pages. */
export const answer = (...pages: readonly (readonly unknown[])[]): void => {
  shop.find = async ({ after }) => {
    const no = Number(after ?? 0);
    return { uids: pages[no] ?? [], next: no + 1 < pages.length ? String(no + 1) : null };
  };
};
