/** Bodies from templates, while plugins bring other filters. */
import { afterAll, expect, test } from 'vitest';
import { useLiquidFilters } from '../../../src/domain/content/liquid-thread.ts';
import { renderBody } from '../../../src/domain/webhooks/body-template.ts';

const filter = (sign: string) => ({
  ...{ plugin: 'marks', name: 'mark', export: 'mark' },
  module: `data:text/javascript,export const mark = (text) => text + '${sign}'`,
});

afterAll(() => useLiquidFilters([]));

test('a template is run with the filters that there are now', async () => {
  for (const sign of ['!', ';']) {
    useLiquidFilters([filter(sign)]);
    expect(await renderBody('{{ event | mark }}', { event: 'new_customer' })).toBe(`new_customer${sign}`);
  }
});
