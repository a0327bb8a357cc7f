/**
 * Closed sets of words as enums: states, kinds, units. Their values are the words of the database and of REST. Sets that plugins
 * extend, such as the types of sending servers and the ways to pay, stay strings; so do sources
 * with a uid in them, and the kinds of list mails, of which one has a hyphen.
 */
import type { CustomerStatus } from '../domain/accounts/customer.ts';
import type { Deliverability as Deliverable } from '../domain/audience/deliverability-read-model.ts';
import type { FieldType } from '../domain/audience/field-value.ts';
import type { SETTABLE_STATUSES } from '../domain/audience/subscriber.ts';
import type { SubscriberStatus as Status } from '../domain/audience/subscriber-fields.ts';
import type { SuppressionReason as Reason } from '../domain/audience/suppression.ts';
import type { AllowanceSource as Source } from '../domain/billing/plans/allowance.ts';
import type { HistoryEvent } from '../domain/billing/billing-work.ts';
import type {
  InvoiceKind as KindOfInvoice,
  InvoiceStatus as StatusOfInvoice,
} from '../domain/billing/invoices/invoice-store.ts';
import type { PaymentStatus as StatusOfPayment } from '../domain/billing/payments/payment-intent.ts';
import type { FrequencyUnit as UnitOfPeriod } from '../domain/billing/subscriptions/period.ts';
import type { PlanStatus as StatusOfPlan } from '../domain/billing/plans/plan-fields.ts';
import type { LineKind } from '../domain/billing/subscriptions/proration.ts';
import type { SubscriptionStatus as StatusOfSubscription } from '../domain/billing/subscriptions/subscription.ts';
import type { Encryption, Protocol } from '../domain/bounces/bounce-handler-fields.ts';
import type { CampaignStatus as StatusOfCampaign } from '../domain/campaigns/campaign-state-store.ts';
import type { TemplateKind as KindOfTemplate } from '../domain/content/templates/template.ts';
import type { TokenKind as KindOfToken } from '../domain/context.ts';
import type { FileStatus as StatusOfFile } from '../domain/files/file.ts';
import type { ExtensionKind as KindOfExtension } from '../domain/plugins/extension-slots.ts';
import type { SettingsOwner } from '../domain/plugins/plugin-settings.ts';
import type { VerificationWord } from '../domain/audience/segments/segment.ts';
import type { ConditionParameterType, SettingType, VerificationResult as Verdict } from '../plugin-api/index.ts';
import type { DmarcPolicy as Policy } from '../domain/sending/domains/dmarc-record.ts';
import type { DomainStatus } from '../domain/sending/domains/sending-domain-fields.ts';
import type {
  DkimKeyStatus as StatusOfKey,
  RecordKind,
  RecordStatus,
} from '../domain/sending/domains/sending-domain.ts';
import type { quotaUnits } from '../domain/sending/sending-server.ts';
import { builder } from './builder.ts';

/** An enum with a sentence for each of the words. */
export function closedSet<Word extends string>(
  name: string,
  description: string,
  words: Readonly<Record<Word, string>>,
) {
  const values: Record<string, { description: string }> = Object.fromEntries(
    Object.entries<string>(words).map(([word, meaning]) => [word, { description: meaning }]),
  );
  return builder.enumType(name, { description, values });
}

/** Of what is switched on or off by hand. */
export const ActiveStatus = closedSet<'active' | 'inactive'>('ActiveStatus', 'Whether it is used.', {
  active: 'It is used.',
  inactive: 'It is kept and not used.',
});

export const AddressResult = closedSet<Verdict>('AddressResult', 'What a verifier says of an address.', {
  deliverable: 'Nothing speaks against it.',
  undeliverable: 'Mail to it cannot arrive.',
  risky: 'Mail may arrive and should perhaps not be sent; the reasons say why.',
  unknown: 'There was no answer: try again later.',
});

export const VerificationState = closedSet<VerificationWord>(
  'VerificationState',
  'What a verifier has said of an address, or that none was asked.',
  {
    deliverable: 'Nothing speaks against it.',
    undeliverable: 'Mail to it cannot arrive.',
    risky: 'Mail may arrive and should perhaps not be sent.',
    unknown: 'There was no answer.',
    unverified: 'No verifier was asked.',
  },
);

export const AccountStatus = closedSet<CustomerStatus>('AccountStatus', 'The state of a customer or a user.', {
  active: 'May log in.',
  disabled: 'Cannot log in; the data is kept.',
  deleting: 'Is being erased.',
});

export const ApiTokenKind = closedSet<KindOfToken>('ApiTokenKind', 'How a credential was made.', {
  primary: 'One per user, kept until rotated.',
  login: 'Made by logging in; expires when unused.',
  named: 'Made by hand.',
  session: 'The cookie of a browser; no API token.',
});

export const EntryPoint = closedSet<'graphql' | 'rest' | 'page'>('EntryPoint', 'Where a request came in.', {
  graphql: 'A GraphQL operation.',
  rest: 'A request to the REST API.',
  page: 'A page in a browser.',
});

export const AllowanceSource = closedSet<Source>('AllowanceSource', 'Where an allowance comes from.', {
  unlimited: "The operator's account.",
  plan: 'The plan of the running subscription.',
  pending: 'The first subscription waits for payment: lists and campaigns can be prepared, nothing is sent.',
  ended: 'The last subscription ended: reading, paying and deleting go on, nothing new is made or sent.',
  none: 'There was never a subscription: as after the end of one.',
});

export const MailboxProtocol = closedSet<Protocol>('MailboxProtocol', 'How a mailbox is read.', {
  imap: 'IMAP, RFC 9051.',
  pop3: 'POP3, RFC 1939.',
});

export const MailboxEncryption = closedSet<Encryption>('MailboxEncryption', 'How the connection is encrypted.', {
  tls: 'From the first byte.',
  starttls: 'After a command in plain text.',
  none: 'Not at all.',
});

export const CampaignStatus = closedSet<StatusOfCampaign>('CampaignStatus', 'The state of a campaign.', {
  new: 'A draft.',
  ready: 'Complete; it can be started.',
  scheduled: 'Starts at its time.',
  queued: 'Started; its audience is being written down.',
  sending: 'Is being sent.',
  paused: 'Stopped; it can be resumed.',
  done: 'Everybody was sent a message, or there is a reason why not.',
  error: 'Could not be started.',
});

export const CampaignType = closedSet<'regular'>('CampaignType', 'The kind of a campaign.', {
  regular: 'One message to everybody.',
});

export const Deliverability = closedSet<Deliverable>(
  'Deliverability',
  'Whether mail to an address can arrive, by the suppression lists.',
  {
    ok: 'On no suppression list.',
    bounced: 'Suppressed: the mailbox does not exist, or accepted no mail for a long time.',
    complained: 'Suppressed: its reader called a mail unwanted.',
    suppressed: 'Suppressed for another reason.',
  },
);

export const SubscriberStatus = closedSet<Status>('SubscriberStatus', 'Whether a person gets mail of a list.', {
  subscribed: 'Gets mail.',
  unsubscribed: 'Took the consent back.',
  unconfirmed: 'Did not confirm in time, or was added without consent.',
  pending: 'Was asked to confirm.',
});

export const SettableSubscriberStatus = closedSet<(typeof SETTABLE_STATUSES)[number]>(
  'SettableSubscriberStatus',
  'The status that a caller gives to a person. `pending` comes only with a confirmation mail.',
  {
    subscribed: 'Gets mail; is asked to confirm first if the list has double opt-in.',
    unsubscribed: 'Took the consent back.',
    unconfirmed: 'Is on the list without consent.',
  },
);

export const ErasableKind = closedSet<'list' | 'campaign'>('ErasableKind', 'What is being erased.', {
  list: 'A list with its people and campaigns.',
  campaign: 'A campaign with its ledger.',
});

export const ErasureStatus = closedSet<'running' | 'done'>('ErasureStatus', 'The state of erasing a person.', {
  running: 'Rows are still being erased.',
  done: 'Everything is erased.',
});

export const InvoiceKind = closedSet<KindOfInvoice>('InvoiceKind', 'What an invoice is for.', {
  start: 'Begins a subscription.',
  renewal: 'Pays its next period.',
  change: 'Moves it to another plan.',
});

export const InvoiceStatus = closedSet<StatusOfInvoice>('InvoiceStatus', 'The state of an invoice.', {
  pending: 'Has to be paid.',
  paid: 'Is paid.',
  void: 'Does not have to be paid any more.',
});

export const InvoiceLineKind = closedSet<LineKind>('InvoiceLineKind', 'What a line of an invoice is for.', {
  plan: 'The price of the period.',
  unused: 'What is left of a period that was paid.',
  credit_used: 'Credit of earlier plans that is used now.',
  credit_kept: 'What is kept as credit for later invoices.',
});

export const PaymentStatus = closedSet<StatusOfPayment>('PaymentStatus', 'The state of a payment.', {
  PENDING: 'Nothing was done yet.',
  REQUIRES_ACTION: 'The customer has to do something.',
  AWAITING_ADMIN_APPROVAL: 'An administrator has to look whether the money came.',
  SUCCEEDED: 'The money came. Final.',
  FAILED: 'It was rejected. Final.',
  CANCELLED: 'It is not wanted any more. Final.',
});

export const PlanStatus = closedSet<StatusOfPlan>('PlanStatus', 'The state of a plan.', {
  active: 'Can be chosen.',
  inactive: 'Archived: nobody new can have it.',
  deleted: 'Deleted; kept for the invoices and subscriptions that name it.',
});

export const FrequencyUnit = closedSet<UnitOfPeriod>('FrequencyUnit', 'A unit of periods.', {
  day: 'Days.',
  week: 'Weeks.',
  month: 'Months of the calendar.',
  year: 'Years of the calendar.',
});

export const SubscriptionStatus = closedSet<StatusOfSubscription>(
  'SubscriptionStatus',
  'The state of a subscription.',
  {
    pending: 'Waits for its first payment.',
    active: 'Runs and renews.',
    cancelled: "Runs to its period's end.",
    ended: 'Is over.',
  },
);

export const SubscriptionHistoryEvent = closedSet<HistoryEvent>(
  'SubscriptionHistoryEvent',
  'What happened to a subscription.',
  {
    created: 'It was made.',
    started: 'Its first period began.',
    renewal_due: 'The invoice of its next period was made.',
    renewed: 'Its next period began.',
    change_requested: 'Another plan was chosen; it waits for payment.',
    change_withdrawn: 'The other plan is not wanted any more.',
    plan_changed: 'It moved to another plan.',
    payment_claimed: 'The customer says that an invoice was paid.',
    payment_failed: 'A payment through a gateway failed.',
    payment_credited: 'Money came for an invoice that was not open any more: it became credit.',
    payment_refunded: 'Money was paid back at the vendor.',
    payment_rejected: 'An administrator did not find the money.',
    updated: 'Its dates, period or options were changed.',
    cancelled: 'It runs to the end of its period only.',
    resumed: 'It renews again.',
    terminated: 'It was ended at once.',
    ended: 'It ended by its date.',
  },
);

export const SendingDomainStatus = closedSet<DomainStatus>('SendingDomainStatus', 'The state of a sending domain.', {
  pending: 'Its records were never all seen.',
  verified: 'Mail is signed.',
  failing: 'A needed record is gone; mail is signed for three days more.',
  lost: 'The record did not come back, or another customer has proved the domain.',
});

export const DnsRecordKind = closedSet<RecordKind>('DnsRecordKind', 'What a DNS record is for.', {
  ownership: 'Proves that the domain is yours.',
  dkim: 'The public key of signatures.',
  spf: 'The servers that may send for the return-path.',
  dmarc: 'What receivers do with mail that fails.',
  return_path: 'Where bounces go.',
  tracking: 'The host of links.',
});

export const DnsRecordStatus = closedSet<RecordStatus>(
  'DnsRecordStatus',
  'What the last check found of a DNS record.',
  {
    unknown: 'It was not checked yet, or could not be.',
    verified: 'It is there.',
    missing: 'It is not there.',
    wrong: 'Another value is there.',
  },
);

export const DnsRecordType = closedSet<'TXT' | 'CNAME'>('DnsRecordType', 'The type of a DNS record.', {
  TXT: 'A text.',
  CNAME: 'Another name of a host.',
});

export const DkimKeyStatus = closedSet<StatusOfKey>('DkimKeyStatus', 'The state of a key that signs.', {
  new: 'Waits for its record.',
  active: 'Signs.',
  retired: 'Signs no more; its record must stay for a week.',
});

export const DmarcPolicy = closedSet<Policy>('DmarcPolicy', 'What receivers do with mail that fails DMARC.', {
  none: 'Nothing.',
  quarantine: 'Treat it as suspicious.',
  reject: 'Refuse it.',
});

export const DmarcAlignment = closedSet<'relaxed' | 'strict'>('DmarcAlignment', 'How near two domains must be.', {
  relaxed: 'The same organizational domain.',
  strict: 'The same domain.',
});

export const QuotaUnit = closedSet<(typeof quotaUnits)[number]>('QuotaUnit', 'A unit of the time of a quota.', {
  second: 'Seconds.',
  minute: 'Minutes.',
  hour: 'Hours.',
  day: 'Days.',
  month: 'Months.',
});

export const SuppressionReason = closedSet<Exclude<Reason, 'erased'>>(
  'SuppressionReason',
  'Why an address gets no mail.',
  {
    manual: 'Somebody put it on the list.',
    bounce: 'There is no such mailbox, or it bounced too often.',
    complaint: 'The reader called a message unwanted.',
    undeliverable: 'A verification found that mail to it cannot arrive.',
  },
);

export const FileStatus = closedSet<StatusOfFile>('FileStatus', 'The state of an uploaded file.', {
  uploading: 'Pieces are missing; it has no address yet.',
  ready: 'It can be used.',
});

export const ListFieldType = closedSet<FieldType>('ListFieldType', 'What a field of a list holds.', {
  text: 'A text.',
  textarea: 'A text of several lines.',
  number: 'A number.',
  date: 'A date.',
  datetime: 'A date, or a time of a day.',
  dropdown: 'One of its options, chosen from a list.',
  radio: 'One of its options, all of them in sight.',
  multiselect: 'Any number of its options, chosen from a list.',
  checkbox: 'Any number of its options, all of them in sight.',
});

export const ExtensionKind = closedSet<KindOfExtension>('ExtensionKind', 'What a front end does with it.', {
  menu_item: 'An item of a menu: a link.',
  menu_group: 'A group of items of a menu.',
  section: 'A part of a page: a link with a title.',
  script: 'A script of this installation that the page loads.',
  stylesheet: 'A style sheet of this installation that the page loads.',
});

export const PluginSettingType = closedSet<SettingType>('PluginSettingType', 'What a setting of a plugin holds.', {
  text: 'A text in one line.',
  number: 'A number.',
  flag: 'true or false.',
  choice: 'One of its choices.',
  secret: 'A credential: stored encrypted, never answered.',
});

export const SegmentParameterType = closedSet<ConditionParameterType>(
  'SegmentParameterType',
  'What a value of a plugin’s condition is.',
  {
    text: 'A text in one line.',
    number: 'A number.',
    boolean: 'true or false.',
    day: 'A day as a text: `2026-12-31`.',
    option: 'The value of one of its options.',
  },
);

export const PluginSettingsOwner = closedSet<SettingsOwner>('PluginSettingsOwner', 'Whose settings these are.', {
  installation: 'Set once, by an administrator.',
  customer: 'Each customer has its own.',
});

export const TemplateKind = closedSet<KindOfTemplate>(
  'TemplateKind',
  'What mails of a template are to their readers.',
  {
    transactional: 'The reader caused it and needs it, such as a receipt: it has no unsubscribe link.',
    optional: 'A notice that the reader can switch off: it has an unsubscribe link.',
    marketing: 'Everything else: it has an unsubscribe link and the address of the sender.',
  },
);
