/** What the rule of sql-homes.test.ts cannot hold for. */

interface SeveralWriters {
  readonly modules: readonly string[];
  readonly why: string;
}

/** Tables that more than one module writes. This table only shrinks. */
export const writtenBySeveral: Readonly<Record<string, SeveralWriters>> = {
  campaign: {
    modules: ['domain/audience', 'domain/campaigns'],
    why: 'A deleted segment leaves its campaigns; audience lies below campaigns and cannot call it.',
  },
  'hot.delivery': {
    modules: ['domain/delivery', 'domain/tracking'],
    why: 'A report changes the outcome, its event and the counters in one statement.',
  },
  'hot.delivery_counter': {
    modules: ['domain/delivery', 'domain/tracking'],
    why: 'As hot.delivery.',
  },
  'hot.link_counter': {
    modules: ['domain/audience', 'domain/statistics', 'domain/tracking'],
    why: 'Links are registered before the first click; clicks count in one statement with other counters; erasing takes addresses out.',
  },
  'hot.list_counter': {
    modules: ['domain/audience', 'domain/tracking'],
    why: 'Clicks and opens are counted in one statement for campaign, list and links.',
  },
  'hot.rate_bucket': {
    modules: ['domain/audience', 'domain/sending'],
    why: 'Each deletes the old buckets of its own keys.',
  },
  'hot.received_block': {
    modules: ['domain/delivery', 'domain/tracking'],
    why: 'Goes with the partition of the ledger that it was made from, in one transaction.',
  },
  'hot.received_campaign': { modules: ['domain/delivery', 'domain/tracking'], why: 'As hot.received_block.' },
  'hot.subscriber_activity': { modules: ['domain/audience', 'domain/tracking'], why: 'Goes with the subscriber.' },
  'hot.unsubscribe_notice': {
    modules: ['domain/audience', 'domain/installation'],
    why: 'The end of a hold drops all mails that waited; installation does not import audience.',
  },
  'inbox.message': {
    modules: ['domain/audience', 'inbox'],
    why: "Erasing a person takes the person's mails; the domain does not import the development receiver.",
  },
  suppression: {
    modules: ['domain/audience', 'domain/tracking'],
    why: 'A refusal that is taken back takes back the suppression in the same statement.',
  },
  test_message: {
    modules: ['domain/delivery', 'domain/installation'],
    why: 'The end of a hold drops all mails that waited; installation does not import delivery.',
  },
};
