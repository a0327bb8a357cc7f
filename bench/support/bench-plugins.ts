/** Plugins in a product's data directory, each with one callback for a FILTER, switched on and off over HTTP. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Product } from './product.ts';

export interface BenchPlugins {
  /** For `DATA_DIR`. */
  readonly dataDir: string;
  activate(product: Product): Promise<void>;
  deactivate(product: Product): Promise<void>;
  remove(): void;
}

/** `callback` is the source of a function, such as `(value) => value`. */
export function writeBenchPlugins(count: number, filter: string, callback: string): BenchPlugins {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-bench-'));
  const names = Array.from({ length: count }, (_, number) => `bench/listener-${number}`);
  for (const name of names) {
    const folder = path.join(dataDir, 'plugins', name);
    mkdirSync(folder, { recursive: true });
    const mailwright = { contract: 1, hooks: [filter] };
    const manifest = { name, version: '1.0.0', type: 'module', exports: './index.ts', mailwright };
    writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest));
    const boot = `boot(hooks) { hooks.modify('${filter}', ${callback}); }`;
    writeFileSync(path.join(folder, 'index.ts'), `export const plugin = { name: '${name}', ${boot} };\n`);
  }
  const each = async (product: Product, act: string): Promise<void> => {
    for (const name of names) await product.rest('POST', `/plugins/${name}/${act}`);
  };
  return {
    dataDir,
    activate: (product) => each(product, 'activate'),
    deactivate: (product) => each(product, 'deactivate'),
    remove: () => rmSync(dataDir, { recursive: true, force: true }),
  };
}
