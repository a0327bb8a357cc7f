/** A list with people, a sending server and campaigns, made through the product's own entry point. */
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { CAMPAIGN } from './bench-message.ts';
import { cpuSecondsOfTree } from './process-tree.ts';
import type { Product } from './product.ts';

export interface ServerSettings {
  readonly port: number;
  readonly connections: number;
  readonly window: number;
}

export interface BenchTenant {
  /** Sends through the receiver at this port from now on. */
  useServer(settings: ServerSettings): Promise<void>;
  /** A campaign to the whole list, ready to be run; answers its uid. */
  createCampaign(): Promise<string>;
  run(campaignUid: string): Promise<void>;
  untilDone(campaignUid: string): Promise<void>;
  /** Only so many addresses are suppressed from now on, half of them for the whole installation; nobody on the list has one. */
  suppress(addresses: number): Promise<void>;
  /** Whether changes of customers, plans, lists and campaigns are written to the event record from now on. */
  recordEvents(isOn: boolean): Promise<void>;
  /** Processor seconds of the database server with all its processes. */
  databaseSeconds(): number;
  close(): Promise<void>;
}

/** Planned once: it is asked fifty times a second. */
const STATUS = { name: 'status', text: 'SELECT status FROM campaign WHERE uid = $1' };
const SENDER = { from_email: 'news@shop.example', from_name: 'Shop' };
const CONTACT = {
  company: 'Shop',
  address_1: '1 High Street',
  city: 'Springfield',
  state: 'CA',
  zip: '12345',
  phone: '1',
  country_id: 1,
  email: 'shop@shop.example',
};

/** Makes a list of `people`; they are written straight into their table. */
export async function openBenchTenant(product: Product, databaseUrl: string, people: number): Promise<BenchTenant> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const list = { name: 'Bench', default_subject: 'News', ...SENDER, contact: CONTACT };
  const { list_uid } = await product.rest<{ list_uid: string }>('POST', '/lists', list);
  await product.rest('POST', `/lists/${list_uid}/add-field`, { type: 'text', label: 'City', tag: 'CITY' });
  await client.query(
    `INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields, tags)
     SELECT l.customer_id, l.id, 'person' || n || '@example.org', 'person' || n || '@example.org', 'subscribed',
            jsonb_build_object('FIRST_NAME', 'Name' || n, 'CITY', 'City' || n % 100), '{}'
       FROM mail_list l, generate_series(1, $1::int) n WHERE l.uid = $2`,
    [people, list_uid],
  );
  await client.query('VACUUM ANALYZE subscriber');
  const { rows: places } = await client.query<{ data_directory: string }>('SHOW data_directory');
  const databasePid = Number.parseInt(readFileSync(`${places[0]?.data_directory}/postmaster.pid`, 'utf8'), 10);
  let serverUid: string | undefined;
  return {
    async useServer(server) {
      const settings = { host: '127.0.0.1', encryption: 'none', ...server };
      const made = { name: 'Sink', type: 'smtp', settings };
      if (serverUid === undefined) await product.rest('POST', '/sending_servers', made);
      else await product.rest('PATCH', `/sending_servers/${serverUid}`, { settings });
      const { rows } = await client.query<{ uid: string }>('SELECT uid FROM sending_server ORDER BY id DESC LIMIT 1');
      serverUid = rows[0]?.uid;
    },
    async recordEvents(isOn) {
      const { rows } = await client.query<{ table: string; trigger: string }>(
        `SELECT tgrelid::regclass::text AS table, quote_ident(tgname) AS trigger FROM pg_trigger WHERE tgname LIKE 'events\\_of\\_%'`,
      );
      if (rows.length === 0) throw new Error('There are no triggers of the event record.');
      for (const { table, trigger } of rows)
        await client.query(`ALTER TABLE ${table} ${isOn ? 'ENABLE' : 'DISABLE'} TRIGGER ${trigger}`);
    },
    async createCampaign() {
      const campaign = { list_uid, name: 'Bench', ...CAMPAIGN, ...SENDER, track_open: 1, track_click: 1 };
      return (await product.rest<{ campaign_uid: string }>('POST', '/campaigns', campaign)).campaign_uid;
    },
    async run(uid) {
      await product.rest('POST', `/campaigns/${uid}/run`);
    },
    async untilDone(uid) {
      for (;;) {
        const { rows } = await client.query<{ status: string }>({ ...STATUS, values: [uid] });
        if (rows[0]?.status === 'done') return;
        await sleep(20);
      }
    },
    async suppress(addresses) {
      await client.query('DELETE FROM suppression');
      await client.query(
        `INSERT INTO suppression (customer_id, email_key, reason)
         SELECT n % 2 * l.customer_id, 'gone' || n || '@example.org', 'bounce' FROM mail_list l, generate_series(1, $1::int) n
          WHERE l.uid = $2`,
        [addresses, list_uid],
      );
      await client.query('VACUUM ANALYZE suppression');
    },
    databaseSeconds: () => cpuSecondsOfTree(databasePid),
    close: () => client.end(),
  };
}
