/** `--help`: what a program's opening comment says. */
import { readFileSync } from 'node:fs';

/** The opening comment of a file, as plain text. */
export function usageOf(file: string): string {
  const [comment = ''] = readFileSync(file, 'utf8').split('*/');
  return comment.replaceAll(/^(?:\/\*\*| \*) ?/gm, '').trim();
}
