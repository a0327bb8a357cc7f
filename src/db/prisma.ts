/** Prisma over the same pool: the GraphQL schema reads through it. Writes go through database.ts. */
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../generated/prisma/client.ts';
import type { Database } from './database.ts';

export type Prisma = PrismaClient;

/** A Prisma client on the database's pool; closing the pool stays with the database. */
export function openPrisma(database: Database): Prisma {
  return new PrismaClient({ adapter: new PrismaPg(database.pool, { disposeExternalPool: false }) });
}
