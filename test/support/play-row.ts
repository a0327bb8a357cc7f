/** Plays any row of the REST interface once, with right values, in a world of its own. */
import { Secret, TOTP } from 'otpauth';
import { sql } from '../../src/db/database.ts';
import type { Dialect } from '../../src/rest-facade/dialects.ts';
import type { Method, Row } from '../../src/rest-facade/row.ts';
import { parametersIn } from './known-in.ts';
import { doubtMessage } from './insert-message.ts';
import { nameTemplate, refuseTransactional } from './insert-transactional.ts';
import type { RestAnswer, RestApp } from './rest-app.ts';
import { letVendorKeep } from './remote-rows.ts';
import { requestRow } from './request-row.ts';
import { newWorld, rightValue, type World } from './rest-world.ts';

export interface RowPlace {
  readonly row: Row;
  readonly method: Method;
}

export interface Played {
  readonly world: World;
  readonly values: readonly (readonly [name: string, value: unknown])[];
  readonly answer: RestAnswer;
}

/** Every row under each of its methods. */
export function placesOf(rows: readonly Row[]): RowPlace[] {
  return rows.flatMap((row) => [row.method].flat().map((method) => ({ row, method })));
}

export interface Play extends RowPlace {
  readonly dialect: Dialect;
  readonly smtp: World['smtp'];
  /** Only these parameters; all of them when it is not said. */
  readonly only?: (name: string) => boolean;
}

/** Asks it in this dialect, after the world was brought into the state that the row takes. */
export async function playRow(
  app: RestApp,
  { row, method, dialect, smtp, only = (name) => !LEFT_OUT.has(name) || row.path.startsWith('/two_factor') }: Play,
): Promise<Played> {
  const made = await newWorld(app, smtp);
  await bringIntoState(app, made, row);
  const world = row.path.startsWith('/two_factor') ? { ...made, code: await secondFactorFor(app, made, row) } : made;
  const values = (await parametersIn(row, dialect)).flatMap((parameter) => {
    const right = rightValue(row, parameter, world);
    const name = parameter.names[0] ?? '';
    return right === undefined || !only(name)
      ? []
      : [[name, right === UNKNOWN_TEXT ? (PLAUSIBLE[name] ?? right) : right] as const];
  });
  const speaking: RestApp = {
    ...app,
    rest: (path, request) => app.rest(path, { ...request, headers: { ...request?.headers, 'X-Api-Dialect': dialect } }),
  };
  return { world, values, answer: await requestRow(speaking, { row, method, world, values }) };
}

/** Right as they may be, an answer with them shows less. */
const LEFT_OUT = new Set(['open', 'click', 'code', 'otp', 'after']);
/** What `rightValue` says of a text it knows nothing about. */
const UNKNOWN_TEXT = 'Some text';
/** For readers of the reference, who see what is played here. */
const PLAUSIBLE: Readonly<Record<string, string>> = {
  name: 'Friends of the shop',
  subject: 'News of the week',
  default_subject: 'News of the week',
  from_name: 'Acme',
  remind_message: 'You signed up on our website.',
  'contact[company]': 'Acme Ltd.',
  'contact[address_1]': '1 High Street',
  'contact[address_2]': 'Second floor',
  'contact[city]': 'Springfield',
  'contact[state]': 'California',
  'contact[zip]': '12345',
  'contact[phone]': '+1 555 0100',
  label: 'Town',
  plain: 'Hello {EMAIL}',
  first_name: 'Ann',
  last_name: 'Smith',
  description: 'Said by the delivery system.',
};

/** A code that the row takes, after the steps before it. */
async function secondFactorFor(app: RestApp, { token, password }: World, { path, method }: Row): Promise<string> {
  if (path === '/two_factor' && method === 'POST') return '';
  const post = (to: string, body: object) => app.rest(to, { method: 'POST', token, body });
  const { secret } = Object((await post('/two_factor', { password })).body);
  const code = new TOTP({ secret: Secret.fromBase32(String(secret)) }).generate();
  if (path === '/two_factor/confirm') return code;
  return String(Object((await post('/two_factor/confirm', { code })).body).recovery_codes[0]);
}

const CAMPAIGN_STATUS: Readonly<Record<string, string>> = {
  '/campaigns/:uid/pause': 'scheduled',
  '/campaigns/:uid/resume': 'paused',
};

/** Some rows take a thing in a certain state only. */
async function bringIntoState(app: RestApp, world: World, { path, method }: Row): Promise<void> {
  const { db } = app.ctx;
  if (path === '/campaigns/:uid/dry_run' && method === 'DELETE')
    await db.execute(
      sql`INSERT INTO dry_run (customer_id, campaign_id) SELECT customer_id, id FROM campaign WHERE uid = ${world.campaignUid}`,
    );
  if (path === '/lists/:uid' && method === 'DELETE')
    await db.execute(sql`UPDATE automation SET status = 'inactive' WHERE uid = ${world.automationUid}`);
  if (path === '/automations/:uid/execute' || path === '/automations/:uid/enter_existing')
    await db.execute(
      sql`DELETE FROM hot.flow_entry WHERE automation_id = (SELECT id FROM automation WHERE uid = ${world.automationUid})`,
    );
  if (path === '/automations/:uid/enter_existing' && method === 'DELETE')
    await db.execute(
      sql`INSERT INTO automation_enrolment (customer_id, automation_id, rule, without_triggers, confirmed, entered_max, per_hour, matching, up_to)
          SELECT customer_id, id, '{"status": ["subscribed"]}', true, 1, 11, 1, 1, 0 FROM automation WHERE uid = ${world.automationUid}`,
    );
  if (path === '/transactional' && method === 'GET') await nameTemplate(db, world);
  if (path === '/transactional/:uid/resend') await refuseTransactional(db, world.transactionalUid);
  if (path === '/messages/:uid/decide') await doubtMessage(db, world);
  const campaignStatus = CAMPAIGN_STATUS[path];
  if (campaignStatus !== undefined)
    await db.execute(
      sql`UPDATE campaign SET status = ${campaignStatus}, delivery_at = now() + interval '1 day' WHERE uid = ${world.campaignUid}`,
    );
  if (path.includes('/remote_'))
    await letVendorKeep(app, world, { isLinked: !path.startsWith('/plans') || method === 'DELETE' });
  if (path.startsWith('/payments/:uid/'))
    await db.execute(
      sql`UPDATE payment_intent SET status = 'AWAITING_ADMIN_APPROVAL', decided_at = NULL WHERE uid = ${world.paymentUid}`,
    );
}
