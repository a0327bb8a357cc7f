/** An installation for a bench: a durable database, the product, a receiver that is a program of its own, and a tenant that sends to it. */
import pg from 'pg';
import { startScratchPostgres } from '../../scripts/scratch-postgres.ts';
import type { BenchDatabase } from './bench-database.ts';
import { openBenchTenant, type BenchTenant } from './bench-tenant.ts';
import { startProduct, type Product } from './product.ts';
import { startBenchSink, type BenchSink } from './sink-process.ts';

export interface BenchInstallation {
  readonly product: Product;
  /** Of the database. */
  readonly client: pg.Client;
  readonly sink: BenchSink;
  readonly tenant: BenchTenant;
}

const DURABLE = [
  'fsync=on',
  'synchronous_commit=on',
  'full_page_writes=on',
  'autovacuum=on',
  'shared_buffers=256MB',
  'max_wal_size=4GB',
];
const SERVER = { connections: 10, window: 50 };

interface InstallationOptions {
  readonly people: number;
  /** How late the receiver answers. */
  readonly delayMs: number;
  /** Instead of an empty database. */
  readonly startDatabase?: () => Promise<BenchDatabase>;
  /** Of the product. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Measures in one that is made for it; everything ends with it. */
export async function inInstallation(
  { people, delayMs, startDatabase = () => startScratchPostgres(DURABLE), settings = {} }: InstallationOptions,
  measure: (installation: BenchInstallation) => Promise<void>,
): Promise<void> {
  const postgres = await startDatabase();
  const sink = await startBenchSink('chunking', delayMs);
  const product = await startProduct(postgres.url, settings);
  const client = new pg.Client(postgres.url);
  await client.connect();
  const tenant = await openBenchTenant(product, postgres.url, people);
  await tenant.useServer({ port: sink.port, ...SERVER });
  try {
    await measure({ product, client, sink, tenant });
  } finally {
    await tenant.close();
    await client.end();
    await product.kill();
    sink.close();
    await postgres.stop();
  }
}
