/** A campaign's compiled message and everything else its batches need, of one moment. */
import { assert } from '../../../lib/errors.ts';
import { asciiDomainOf } from '../../../lib/mail-domain.ts';
import { parseFrequencyCaps, type FrequencyCaps } from '../../audience/frequency-cap.ts';
import type { CompiledMessage } from '../../content/message.ts';
import type { Context } from '../../context.ts';
import { identityFor, type SendingIdentity } from '../../sending/identity.ts';
import type { CampaignKey } from '../../statistics/campaign-key.ts';
import { compileSource } from './campaign-message.ts';
import { readSource } from './campaign-source-read-model.ts';
import { ledgerOfCampaign, type LedgerKey, type UnknownPolicy } from '../ledger/delivery.ts';
import { peopleTimesOf, type PeopleTimes } from './people-times-read-model.ts';

export interface Edition {
  /** The version of everything below: with another one it must be loaded again. */
  readonly version: string;
  /** Of the campaign's content: recipients are marked for this version only. */
  readonly contentVersion: number;
  readonly policy: UnknownPolicy;
  /** Recipients without a composable message are left out; otherwise the campaign is paused. */
  readonly skipsFailed: boolean;
  /** The campaign was resumed after a bounce spike. */
  readonly believesRefusals: boolean;
  /** The bare address in From. */
  readonly fromEmail: string;
  /** The sender's domain in ASCII, for Message-IDs. */
  readonly fromDomain: string;
  /** For plugins. */
  readonly uids: { readonly campaignUid: string; readonly listUid: string; readonly customerUid: string };
  readonly message: CompiledMessage;
  readonly identity: SendingIdentity;
  /** When its recipients get it; null: at any time. */
  readonly times: PeopleTimes | null;
  /** How many messages its recipients get; null: without limit. */
  readonly caps: FrequencyCaps | null;
}

export interface LoadedEdition {
  readonly campaignKey: CampaignKey;
  readonly key: LedgerKey;
  readonly edition: Edition;
}

/** Compiles the message of a campaign that is being sent; undefined when it is gone. Throws ValidationError. */
export async function loadEdition(
  { db, hooks, installation }: Pick<Context, 'db' | 'hooks' | 'installation'>,
  key: CampaignKey,
  version: string,
): Promise<LoadedEdition | undefined> {
  const row = await readSource(db, key);
  if (!row) return undefined;
  const { customerId, campaignId } = key;
  assert(row.snapshot_on !== null, 'a campaign that is being sent has a day in the ledger');
  const identity = await identityFor(db, {
    customerId,
    fromEmail: row.from_email,
    signDkim: row.sign_dkim,
    secret: installation.secret,
  });
  return {
    campaignKey: { customerId, campaignId },
    key: ledgerOfCampaign({ customerId, campaignId, snapshotOn: row.snapshot_on }),
    edition: {
      version,
      contentVersion: row.content_version,
      policy: row.unknown_policy,
      skipsFailed: row.skip_failed_messages,
      believesRefusals: row.bounce_spike === 'believed',
      fromEmail: row.from_email,
      fromDomain: asciiDomainOf(row.from_email),
      uids: { campaignUid: row.uid, listUid: row.list_uid, customerUid: row.customer_uid },
      message: await compileSource({ db, hooks }, { key, row, files: 'whole' }),
      identity,
      times: await peopleTimesOf(db, key),
      caps: parseFrequencyCaps({ customer: row.customer_cap, list: row.list_cap }),
    },
  };
}
