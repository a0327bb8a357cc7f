/**
 * What the tests that walk every mutation of the schema share: running one over HTTP, and right values for its
 * arguments by their names. A new noun teaches it here.
 */
import {
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isUnionType,
  type GraphQLField,
  type GraphQLInputType,
} from 'graphql';
import { newUid } from '../../src/lib/ids.ts';
import { buildSchema } from '../../src/schema/build-schema.ts';
import { WORLDS_VERIFIER } from './insert-verification.ts';
import { DOCUMENT, FLOW } from './insert-automation.ts';
import type { RestApp } from './rest-app.ts';
import type { World } from './rest-world.ts';

export type Values = Record<string, unknown>;
export type Mutation = GraphQLField<unknown, unknown>;

/** Every mutation of the schema. */
export const mutations: readonly Mutation[] = Object.values(buildSchema().getMutationType()?.getFields() ?? {});

/** Refused with right values, because the world's things are in another state than they need. */
export const NEEDS_STATE: ReadonlySet<string> = new Set([
  'pauseCampaign',
  'resumeCampaign',
  // An automation on it is active.
  'deleteList',
  // The world has none.
  'deleteFromAddress',
  // None is under way.
  'cancelCampaignDryRun',
  'decideUnknownDeliveries',
  // Its outcome is known.
  'decideUnknownMessage',
  'revokeApiToken',
  'rotateApiToken',
  'cancelListImport',
  // Nothing answers at the address of the world.
  'uploadFileFromUrl',
  'installPlugin',
  // Servers of SMTP do not show the senders of an account.
  'addSendingServerIdentity',
  'checkSendingServerIdentity',
  // No piece of it has come.
  'finishPluginUpload',
  // The token of the world is no login.
  'logOut',
  'confirmTwoFactor',
  'renewRecoveryCodes',
  'disableTwoFactor',
  'resetTwoFactor',
  'resumeSubscription',
  'approvePayment',
  // The installation is not on hold.
  'endHold',
  // The world's gateway is `offline`, which has no vendor.
  'linkRemotePlan',
  'unlinkRemotePlan',
  'startRemoteSubscription',
  // A plan names servers of the system; the world's is its own.
  'setPlanRoutes',
  'setPlanVerificationServers',
  // The world's mail waits for its time.
  'resendTransactional',
  // The world's person has entered the flow before.
  'executeAutomation',
  'enrolInAutomation',
  // None is under way.
  'cancelAutomationEnrolment',
]);

export interface MutationAnswer {
  readonly status: number;
  readonly text: string;
  readonly message: unknown;
  readonly isRefused: boolean;
  /** The fields that a ValidationError names. */
  readonly fields: readonly string[];
}

/** Runs it as the world's user; as the administrator where only one may. */
export async function runMutation(
  app: RestApp,
  mutation: Mutation,
  { values, world }: { values: Values; world: World },
): Promise<MutationAnswer> {
  const declared = mutation.args.map(({ name, type }) => `$${name}: ${String(type)}`).join(', ');
  const passed = mutation.args.map(({ name }) => `${name}: $${name}`).join(', ');
  const hasUnion = isUnionType(getNamedType(mutation.type));
  const selection = hasUnion
    ? '{ __typename ... on Error { message code } ... on ValidationError { fields { field } } }'
    : '';
  const query =
    declared === ''
      ? `mutation { ${mutation.name} ${selection} }`
      : `mutation (${declared}) { ${mutation.name}(${passed}) ${selection} }`;
  const token = isForAdmins(mutation) ? app.adminToken : world.token;
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables: values }),
  });
  const text = await response.text();
  const { data, errors } = JSON.parse(text);
  const result: unknown = data?.[mutation.name];
  const message: unknown = errors?.[0]?.message ?? (result as { message?: string } | null)?.message;
  const isRefused =
    errors !== undefined || ((result as { __typename?: string } | null)?.__typename ?? '').endsWith('Error');
  const fields = (result as { fields?: { field: string }[] } | null)?.fields?.map(({ field }) => field) ?? [];
  return { status: response.status, text, message, isRefused, fields };
}

/** Whether the schema lets only administrators run it. */
export function isForAdmins(mutation: Mutation): boolean {
  const options: unknown = Reflect.get(mutation.extensions, 'pothosOptions');
  return JSON.stringify(options ?? {}, ['authScopes', 'admin']).includes('"admin":true');
}

/** Right arguments of a mutation for this world. */
export function rightArguments(mutation: Pick<GraphQLField<unknown, unknown>, 'name' | 'args'>, world: World): Values {
  return Object.fromEntries(
    mutation.args.map(({ name, type }) => [name, rightOf(mutation.name, { name, type }, world)]),
  );
}

const HOUR_MS = 3_600_000;

/** Which field of a oneOf input is given; elsewhere the first one. */
const ONE_OF: Readonly<Record<string, string>> = { SegmentRuleInput: 'email', SegmentEmailInput: 'contains' };

function rightOf(mutation: string, { name, type }: { name: string; type: GraphQLInputType }, world: World): unknown {
  const named = getNamedType(type);
  if (named.name === 'SendingRouteInput') return [{ uid: world.serverUid, weight: 2 }];
  if (name === 'options' && mutation.endsWith('ListField')) return mutation === 'addListField' ? ['Some text'] : [];
  if (named.name === 'QuietHoursInput') return { from: '21:00', to: '08:00', timezone: 'Europe/Vienna' };
  if (named.name === 'FrequencyCapInput') return { messages: 100, days: 1, holdDays: 2 };
  if (isInputObjectType(named)) {
    const fields = Object.values(named.getFields());
    const only = ONE_OF[named.name] ?? fields[0]?.name;
    const given = named.isOneOf ? fields.filter((field) => field.name === only) : fields;
    return Object.fromEntries(given.map((field) => [field.name, rightOf(mutation, field, world)]));
  }
  const leaf = rightLeaf(mutation, name, world);
  // The words of one name differ by enum.
  const words = isEnumType(named) ? named.getValues().map((word) => word.name) : undefined;
  const value = words ? (words.find((word) => word === leaf) ?? words[0]) : (leaf ?? fallback[named.name]);
  return isListType(getNullableType(type)) ? [value] : value;
}

const fallback: Values = {
  String: 'Some text',
  Int: 1,
  Boolean: false,
  DateTime: '2030-01-31T08:00:00.000Z',
  BigInt: '1',
  JsonObject: {},
  Base64: 'RU1BSUwNCg==',
};

function rightLeaf(mutation: string, name: string, world: World): unknown {
  const leaf: Values = {
    uid: uidFor(mutation, world),
    importUid: world.importUid,
    segmentUid: world.segmentUid,
    // Its texts are given, too.
    templateUid: mutation === 'sendTransactional' ? '' : world.templateUid,
    ...(mutation === 'sendTransactional' ? { sendAt: new Date(Date.now() + 86_400_000).toISOString() } : {}),
    campaignUid: world.campaignUid,
    testUid: world.flowTestUid,
    builtIn: 'welcome',
    version: 1,
    ...{ flow: FLOW, draftVersion: 1, node: 'call', moves: { call: 'rest' } },
    // Of the ways to go on, one that needs the hours.
    overdue: 'spread',
    document: DOCUMENT,
    ...(mutation === 'copyReadyMadeFlow' ? { readyMade: 'welcome_series' } : {}),
    pluginTemplate: '',
    fileUid: world.pictureUid,
    fileUids: world.pictureUid,
    // The picture of a customer is a file of the administrator, who has none.
    image: mutation === 'updateProfile' ? world.pictureUid : '',
    attachmentUid: world.attachmentUid,
    listUid: world.listUid,
    subscriber: world.subscriberUid,
    email: emailFor(mutation, world),
    emails: `${newUid()}@person.example`,
    kind: 'welcome',
    domainLimits: { 'gmail.com': 2000, '*': 10_000 },
    warmUp: { kind: 'linear', start: 50, step: 50, goal: 5_000 },
    localTime: '09:00',
    reason: 'manual',
    ipAddress: '203.0.113.9',
    countryCode: 'AT',
    field: 'FIRST_NAME',
    timezoneTag: 'FIRST_NAME',
    language: 'de',
    ...(mutation === 'getExtensionSlots' ? { page: 'sidebar', slot: 'menu-items' } : {}),
    logo: world.pictureUid,
    color: '#1F4FD8',
    sendingServerUid: world.serverUid,
    to: mutation === 'getVendorRequestsPage' ? '2040-01-31T08:00:00.000Z' : `${newUid()}@person.example`,
    trap: '',
    // A new one has to differ from the one before.
    password: mutation === 'updateCustomer' ? 'quite another one 8' : world.password,
    currentPassword: world.password,
    newPassword: 'quite another one 7',
    customerUid: world.customerUid,
    planUid: world.planUid,
    invoiceUid: world.invoiceUid,
    gatewayUid: world.gatewayUid,
    price: '9.99',
    currencyId: 49,
    currencyCode: 'EUR',
    frequencyUnit: 'month',
    currentPeriodEndsAt: '2040-01-31T08:00:00.000Z',
    options: { list_max: '10' },
    userUid: world.userUid,
    timezone: 'Europe/Vienna',
    fromEmail: 'valid@sender.example',
    defaultFromEmail: 'valid@sender.example',
    replyTo: 'valid@sender.example',
    html: '<p>Hello {EMAIL}</p>',
    url: 'https://sender.example/',
    type:
      mutation === 'reportDelivery'
        ? 'bounced'
        : mutation.includes('VerificationServer')
          ? WORLDS_VERIFIER
          : mutation.includes('PaymentGateway')
            ? 'offline'
            : mutation.includes('SendingServer')
              ? 'smtp'
              : mutation.includes('Campaign')
                ? 'regular'
                : mutation === 'addListField'
                  ? 'dropdown'
                  : 'text',
    messageId: world.messageId,
    tag: `TAG_${newUid()}`,
    settings: /VerificationServer|PaymentGateway/.test(mutation) ? {} : world.smtp,
    servers: world.verificationServerUid,
    verificationServer: world.verificationServerUid,
    ...(mutation.endsWith('BounceHandler') ? world.mailbox : {}),
    ...(mutation === 'createSendingDomain' ? { name: `${newUid()}.example`, isDefault: false } : {}),
    ...(mutation.endsWith('Plugin') ? { vendor: 'acme', name: 'hello' } : {}),
    ...(mutation.startsWith('switchPlugin') ? { vendor: 'world', name: 'helper' } : {}),
    ...(mutation === 'recordEvents'
      ? { name: 'order_placed', occurredAt: new Date(Date.now() - HOUR_MS).toISOString() }
      : {}),
    ...(mutation === 'retryPluginJobs' ? { vendor: 'acme', name: 'hello' } : {}),
    ...(mutation.includes('Webhook') ? webhookValues(world) : {}),
    migration: world.migration,
    sha256: '0'.repeat(64),
    signature: `${'A'.repeat(86)}==`,
    ...(mutation.endsWith('PluginSettings')
      ? { vendor: 'world', name: 'greeter', for: 'customer', values: { greeting: 'Good morning' } }
      : {}),
    returnPathSubdomain: 'back',
    trackingSubdomain: 'click',
    softBounceLimit: 3,
    softBounceDays: 14,
    ...{ maintenance: false, bouncePauseRecipients: 500, fromAddresses: 'any', mailFrom: 'no-reply@mail.example' },
    fieldValues: { FIRST_NAME: 'Ada' },
    next: '/inbox',
    quotaUnit: 'hour',
    status: /SendingServer|VerificationServer|BounceHandler|Plan|PaymentGateway|Webhook/.test(mutation)
      ? 'active'
      : 'subscribed',
    ...(mutation === 'updateListField' ? { defaultValue: 'Ada', tag: 'FIRST_NAME' } : {}),
    scopes: 'lists:read',
    base64: 'RU1BSUwNCg==',
  };
  return leaf[name];
}

function webhookValues({ webhookUid, webhookDeliveryUid }: World): Values {
  return {
    ...{
      webhookUid,
      event: 'click',
      // It is limited to a campaign.
      templateUid: '',
      secret: 'as long as a secret has to be',
      bodyTemplate: '{{ event }}',
      headers: {},
      state: 'failed',
      after: webhookDeliveryUid,
    },
    ...{ from: '2020-01-31T08:00:00.000Z', to: '2040-01-31T08:00:00.000Z' },
  };
}

function emailFor(mutation: string, world: World): string {
  if (mutation === 'unsuppressAddress') return world.suppressedEmail;
  return mutation === 'logIn' || mutation === 'signIn' || mutation === 'createLoginLink'
    ? world.email
    : `${newUid()}@person.example`;
}

function uidFor(mutation: string, world: World): string {
  if (/Plugin(Upload|Package)$/.test(mutation)) return world.packageUid;
  if (mutation.includes('Import')) return world.importUid;
  if (/File(Upload)?$/.test(mutation)) return world.fileUid;
  if (/^(update|delete)Plan$/.test(mutation)) return world.planUid;
  if (mutation === 'invoice') return world.invoiceUid;
  if (/[sS]ubscription$/.test(mutation)) return world.subscriptionUid;
  if (mutation.endsWith('Payment')) return world.paymentUid;
  if (mutation.endsWith('Transactional')) return world.transactionalUid;
  if (mutation.endsWith('Customer')) return world.customerUid;
  if (mutation.includes('Segment')) return world.segmentUid;
  if (mutation.includes('Template')) return world.templateUid;
  if (/Automation|ParkedRuns$|ToFinished$/.test(mutation)) return world.automationUid;
  if (mutation.includes('Campaign')) return world.campaignUid;
  if (mutation.includes('VerificationServer')) return world.verificationServerUid;
  if (mutation.endsWith('Verification')) return world.verificationUid;
  if (mutation.includes('SendingServer')) return world.serverUid;
  if (mutation === 'removePaymentMethod') return world.methodUid;
  if (mutation.includes('PaymentGateway')) return world.gatewayUid;
  if (mutation === 'resendWebhookDelivery') return world.webhookDeliveryUid;
  if (mutation.endsWith('Webhook') || mutation === 'rotateWebhookSecret') return world.webhookUid;
  if (mutation === 'replayVendorRequest') return world.vendorRequestUid;
  if (mutation === 'refreshInvoice') return world.invoiceUid;
  if (mutation.endsWith('BounceHandler')) return world.bounceHandlerUid;
  if (/SendingDomain|DkimKey/.test(mutation)) return world.domainUid;
  return world.listUid;
}
