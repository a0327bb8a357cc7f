/** An installation for a bench: a durable database, the product, a receiver that is a program of its own, and a tenant that sends to it. */
import pg from 'pg';
import { startScratchPostgres } from '../../scripts/scratch-postgres.ts';
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

/** Measures in one that is made for it; everything ends with it. */
export async function inInstallation(
  { people, delayMs }: { people: number; delayMs: number },
  measure: (installation: BenchInstallation) => Promise<void>,
): Promise<void> {
  const postgres = await startScratchPostgres(DURABLE);
  const sink = await startBenchSink('chunking', delayMs);
  const product = await startProduct(postgres.url);
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
