/** The version of the program, from its package. */
import { readFileSync } from 'node:fs';
import path from 'node:path';

export function version(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(path.join(import.meta.dirname, '..', '..', 'package.json'), 'utf8'),
  );
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '';
}
