/**
 * Takes a mail to `postmaster` at a bounce domain (RFC 5321 4.5.1): its beginning is mailed to the administrators, who answer it by
 * themselves. Bounces and automatic answers are only logged, so that no two programs mail each other. Only so many a day: who
 * comes later is asked to try again, and nothing is dropped without a word.
 */
import { takeFromWindows } from '../../db/rate-windows.ts';
import { postmasterMailJob } from '../../jobs/bounce-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { sha256 } from '../../lib/crypto.ts';
import { inTransaction, type Context } from '../context.ts';
import { readMailParts } from './mail-parts.ts';
import { oneLine } from './one-line.ts';
import { readMailReport } from './read-mail-report.ts';

const DAY_SECONDS = 86_400;
/** People write to a postmaster some times a year; the rest is advertising. */
const MAILS_PER_DAY_MAX = 20;
/** One sender cannot use up the day of all. */
const MAILS_PER_SENDER_MAX = 3;
/** Enough to see what it is about. */
const TEXT_LENGTH_MAX = 4_000;
const LINE_LENGTH_MAX = 300;

export interface PostmasterMail {
  readonly raw: Buffer;
  /** Address of the program that hands it over. */
  readonly client: string;
}

/** `full`: the day's number is reached, and nothing was done. */
export async function receivePostmasterMail(ctx: Context, { raw, client }: PostmasterMail): Promise<'taken' | 'full'> {
  const { verdict } = await readMailReport(raw);
  const mail = await readMailParts(raw);
  const [from, subject] = [mail.header('from'), mail.header('subject')].map((text) =>
    storable(oneLine(text), LINE_LENGTH_MAX),
  );
  if (verdict !== 'none') {
    ctx.log.info('bounces.postmaster_mail', { verdict, isForwarded: false });
    return 'taken';
  }
  const text = storable(mail.text, TEXT_LENGTH_MAX);
  const id = sha256(raw).toString('hex');
  // In one transaction: a mail that is not forwarded does not count.
  const isTaken = await inTransaction(ctx, async ({ db }) => {
    const { refusedBy } = await takeFromWindows(db, [
      { key: 'postmaster', max: MAILS_PER_DAY_MAX, seconds: DAY_SECONDS },
      { key: `postmaster:${client}`, max: MAILS_PER_SENDER_MAX, seconds: DAY_SECONDS },
    ]);
    if (refusedBy) return false;
    await enqueue(db, postmasterMailJob, { id, from: from ?? '', subject: subject ?? '', text });
    return true;
  });
  if (!isTaken) return 'full';
  ctx.log.info('bounces.postmaster_mail', { verdict, isForwarded: true });
  return 'taken';
}

/** The beginning of a text as PostgreSQL can store it: without NUL and halves of characters. */
function storable(text: string, lengthMax: number): string {
  return text.replaceAll('\0', '').slice(0, lengthMax).toWellFormed();
}
