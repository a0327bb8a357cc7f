/** Lines of the log: what stands in them, from wherever it comes, begins no line and commands no terminal. */
import { expect, test } from 'vitest';
import { createLog, type LogFormat } from '../../src/lib/log.ts';

function linesOf(format: LogFormat, text: string): string[] {
  const lines: string[] = [];
  createLog({ level: 'info', format, write: (line) => void lines.push(line) }).info('test.event', { text });
  return lines;
}

const HOSTILE = 'a\r\nb\u001b[31m\u0085c\u009b2J\u2028d\u2029e\u007f"\\';

test.each(['json', 'pretty'] as const)('hostile texts in a %s line', (format) => {
  const [line = '', ...others] = linesOf(format, HOSTILE);
  expect(others).toEqual([]);
  expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
  expect(line).toContain('b\\u001b[31m\\u0085c\\u009b2J\\u2028d\\u2029e\\u007f');
  if (format === 'json') expect(JSON.parse(line)).toMatchObject({ event: 'test.event', text: HOSTILE });
});

test('a plain text is shown as it is on a terminal', () => {
  expect(linesOf('pretty', 'Grüße, "name"')[0]).toMatch(/test\.event text=Grüße, "name"$/);
});
