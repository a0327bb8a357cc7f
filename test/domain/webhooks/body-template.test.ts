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
    expect(await renderBody('{{ event | mark }}', { payload: { event: 'new_customer' }, customerId: 1n })).toBe(
      `new_customer${sign}`,
    );
  }
});

test('a customer with many bodies does not delay the body of another customer', async () => {
  const made: string[] = [];
  const make = async (customerId: bigint, name: string) => {
    await renderBody('{{ event }}', { payload: { event: name }, customerId });
    made.push(name);
  };
  const many = Array.from({ length: 20 }, () => make(1n, 'many'));
  await Promise.all([...many, make(2n, 'one')]);
  expect(made).toHaveLength(21);
  expect(made.indexOf('one')).toBeLessThan(5);
});
