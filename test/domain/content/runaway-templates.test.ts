/** F2: a template that runs away is stopped, says so with its line, and takes nothing else with it. */
import { describe, expect, test } from 'vitest';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import { openLiquid } from '../../../src/domain/content/liquid-thread.ts';
import type { MessageSource } from '../../../src/domain/content/message.ts';
import { ValidationError } from '../../../src/lib/errors.ts';
import { messageSource, recipient } from './message-factory.ts';

const LONG = 'x'.repeat(10_000);
const WORDS = Array.from({ length: 30_000 }, (_, index) => index.toString(36)).join(',');
const letters = (count: number) => `{% assign a = "${'x'.repeat(count)}" | split: "" %}`;
const many = (count: number, template: string) => template.repeat(count);

/** Each within 256 KiB; most got around one of the library's limits, or met it late. */
const TEMPLATES: Readonly<Record<string, string>> = {
  'a huge range': '{% for i in (1..1000000000) %}{% endfor %}',
  'nested ranges': '{% for i in (1..999999) %}{% for j in (1..999999) %}{{ i }}{% endfor %}{% endfor %}',
  'empty nested loops': `${many(12, '{% for i in (1..99) %}')}${many(12, '{% endfor %}')}`,
  'a long text in loops': `{% for a in (1..900) %}{% for b in (1..900) %}${LONG}{% endfor %}{% endfor %}`,
  'captures that double': `{% capture a %}${LONG}{% endcapture %}${many(60, '{% capture a %}{{ a }}{{ a }}{% endcapture %}')}{{ a }}`,
  'texts that double': `{% assign a = "${LONG}" %}${many(40, '{% assign a = a | append: a %}')}{{ a }}`,
  'texts replaced by texts': `{% assign a = "${LONG}" %}${many(10, '{% assign a = a | replace: "x", a %}')}`,
  'lists that double': `{% assign a = "a,b" | split: "," %}${many(40, '{% assign a = a | concat: a %}')}{{ a | join: "-" }}`,
  'a table without end': '{% tablerow i in (1..100000000) %}x{% endtablerow %}',
  'sorting again and again': letters(200_000) + many(500, '{% assign b = a | sort | reverse | uniq %}'),
  'sorting naturally': letters(200_000) + many(50, '{% assign b = a | sort_natural %}'),
  'where on a long list': letters(200_000) + many(300, '{% assign b = a | where: "x", "y" %}'),
  'map and sum of a long list': letters(100_000) + many(300, '{% assign b = a | map: "size" | sum %}'),
  'group by an expression': `{% assign a = "${WORDS}" | split: "," %}${many(100, '{% assign b = a | group_by_exp: "i", "i | append: i" %}')}`,
  'where by an expression': `{% assign a = "${WORDS}" | split: "," %}${many(100, '{% assign b = a | where_exp: "i", "i contains i" %}')}`,
  samples: letters(100_000) + many(2_000, '{% assign b = a | sample: 1 %}'),
  'the width of a date': '{{ "now" | date: "%1000000000d" }}',
  'dates without end': many(5_000, '{{ "2020-01-01" | date: "%c %A %B %^A %10000d" }}'),
  'searching in a long text': `{% assign a = "${'x'.repeat(100_000)}" %}{% assign b = "${'x'.repeat(50_000)}y" %}${many(3_000, '{% if a contains b %}{% endif %}')}`,
  'encoding kept in variables': `{% assign a = "${'ü'.repeat(60_000)}" %}${Array.from({ length: 4_000 }, (_, n) => `{% assign v${n} = a | url_encode %}`).join('')}`,
  'powers of powers': `{% assign a = 9 %}${many(5_000, '{% assign a = a | times: a %}')}{{ a }}`,
  'brackets in brackets': `{{ a${many(40_000, '[a')}${many(40_000, ']')} }}`,
  parentheses: `{% if ${many(60_000, '(')}a${many(60_000, ')')} %}{% endif %}`,
  'a long condition': `{% if a ${many(40_000, 'and a ')} %}{% endif %}`,
  'blocks in blocks': `${many(4_900, '{% if true %}')}x`,
  'branches of one block': `{% if a %}${many(4_900, '{% elsif b %}')}{% endif %}`,
  'a long chain of filters': `{{ "a" ${many(25_000, '| upcase ')} }}`,
  'a long cycle': `{% cycle ${many(40_000, '"a", ')} "b" %}`,
  'openings only': many(80_000, '{% '),
  'outputs opened only': many(60_000, '{{ "'),
  'unclosed tags of html': `${many(5_000, '<script')}${many(5_000, '<!--')}{{ "x" | strip_html }}`,
  'an html of openings': `${many(250_000, '<')}{{ x }}`,
  'an html of depth': `${many(50_000, '<div>')}{{ x }}`,
  'links with Liquid': `<a href="${many(4_000, 'https://x.test/{{ a }}')}">x</a>`,
};

describe('a template of at most 256 KiB', () => {
  test.each(Object.keys(TEMPLATES))('ends, and those after it are served: %s', async (name) => {
    const html = TEMPLATES[name] ?? '';
    expect(html.length).toBeLessThanOrEqual(262_144);
    const fault = await faultOf({ html: `Hello\n${html}` });
    if (fault) {
      expect(fault.code).toMatch(/^(TEMPLATE_FAULT|TEMPLATE_RUNAWAY|INVALID_INPUT)$/);
      expect(fault.fields['html']?.[0]).toMatch(/\S/);
    }
    expect(await honest()).toContain('<p>ADA</p>');
  });

  test('says on which line it was stopped, by itself or from outside', async () => {
    const stopped = async (source: string) => (await faultOf({ html: source }))?.fields['html'];
    expect(await stopped('a\n\n{% for i in (1..99999999) %}x{% endfor %}')).toEqual([
      'Line 3: memory alloc limit exceeded.',
    ]);
    // Which limit comes first depends on how fast the machine is.
    expect(await stopped(`a\n${TEMPLATES['empty nested loops']}`)).toEqual([
      expect.stringMatching(/^Line 2: (?:time|memory alloc) limit exceeded\.$/),
    ]);
    const slow = TEMPLATES['where by an expression']?.replaceAll('{% assign b', '\n{% assign b') ?? '';
    expect(await stopped(slow)).toEqual([expect.stringMatching(/^Line \d+: it takes too long\.$/)]);
  });
});

describe('what is asked for beside a template that is killed', () => {
  const killed = { source: TEMPLATES['where by an expression'] ?? '', isHtml: false, field: 'plain' } as const;

  test('is done all the same: 200 others, before and after it', async () => {
    const template = await openLiquid({ source: 'Hi {{ name | upcase }}', isHtml: false, field: 'plain' });
    const slow = await openLiquid(killed);
    const ask = (n: number) => template.render({ name: `n${n}` });
    const before = Array.from({ length: 100 }, (_, n) => ask(n));
    const runaway = expect(slow.render({})).rejects.toThrow(/too long/);
    const after = Array.from({ length: 100 }, (_, n) => ask(n + 100));
    const texts = (await Promise.all([...before, ...after])).flat();
    expect(texts).toEqual(Array.from({ length: 200 }, (_, n) => expect.stringContaining(`N${n}`)));
    await runaway;
  });

  test('costs no second thread when it is asked for again with the same values', async () => {
    const slow = await openLiquid(killed);
    await expect(slow.render({ who: 'a' })).rejects.toThrow(/too long/);
    const before = process.cpuUsage();
    for (let n = 0; n < 50; n++) await expect(slow.render({ who: 'a' })).rejects.toThrow(/too long/);
    const { user, system } = process.cpuUsage(before);
    // 50 runs would take 50 times the 250 ms after which one is killed.
    expect((user + system) / 1_000).toBeLessThan(2_500);
  });

  test('waits while the process itself goes on', async () => {
    const slow = await openLiquid(killed);
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 5);
    await expect(slow.render({ who: 'b' })).rejects.toThrow(/too long/);
    clearInterval(counting);
    // The thread had 250 ms of CPU time at least; a process that waited for it would have counted one or two.
    expect(turns).toBeGreaterThan(10);
  });
});

async function faultOf(source: Partial<MessageSource>): Promise<ValidationError | undefined> {
  try {
    const message = await compileMessage(messageSource(source));
    expect((await message.fill(recipient())).content.length).toBeLessThan(6_000_000);
    return undefined;
  } catch (error) {
    if (error instanceof ValidationError) return error;
    throw error;
  }
}

async function honest(): Promise<string> {
  const html = '<p>{{ subscriber.first_name | upcase }}</p>{UNSUBSCRIBE_URL}';
  return (await (await compileMessage(messageSource({ html }))).texts(recipient({ FIRST_NAME: 'Ada' }))).html ?? '';
}
