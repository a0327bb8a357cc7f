/** A walk over the whole schema: every root field and type names the right it needs, every list has a bound. */
import {
  getNamedType,
  isObjectType,
  isListType,
  isNonNullType,
  isUnionType,
  getNullableType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { buildSchema } from '../../src/schema/build-schema.ts';
import { FIRST_MAX, PER_PAGE_MAX } from '../../src/schema/limits.ts';

const schema = buildSchema();

/** Whoever adds to this list opens the list to the whole world. */
const PUBLIC_FIELDS = ['Mutation.logIn', 'Mutation.signIn', 'Mutation.signUp', 'Query.signUpChallenge'];

/** What holds no data of its own. */
const SHELLS = /^(PageInfo|FieldError|.*Error|.*Connection|.*Edge)$/;

/** Lists without a size argument: short by nature, for the reason given. */
const SHORT_LISTS: Readonly<Record<string, string>> = {
  'DeletionsSuccess.nodes': 'at most a hundred, while they are erased',
  'ReleasedInstallation.mailsDropped':
    'once in the life of a restored installation, a row for each kind and list with mails',
  'RecordedEvents.answers': 'one for each event of the request, of which there are at most EVENTS_AT_ONCE_MAX',
  'PluginsSuccess.nodes': 'the plugins of an installation, each of which an operator has put there',
  'Plugin.usedByAutomations': 'FLOWS_NAMED_MAX, and a word for the others',
  'ExtensionSlotsSuccess.nodes': 'what the active plugins add to one page',
  'SegmentConditionsSuccess.nodes': 'CONDITIONS_MAX of each active plugin',
  'SegmentCondition.parameters': 'PARAMETERS_MAX of a condition',
  'SegmentParameter.options': 'OPTIONS_MAX of a parameter',
  'PluginSettingsSuccess.nodes': 'one for each kind of owner',
  'PluginSettings.settings': 'SETTINGS_MAX of a form',
  'PluginSettings.secretsSet': 'SETTINGS_MAX of a form',
  'PluginSetting.choices': 'CHOICES_MAX of a choice',
  'ExtensionEntry.items': 'ITEMS_MAX of a group',
  'Upgrade.pendingMigrations': 'what one version adds',
  'PluginPackagesSuccess.nodes': 'at most the last 200',
  'PluginJobsSuccess.nodes': 'at most 200',
  'PluginMailTemplatesSuccess.nodes': 'what the active plugins add',
  'BuiltInTemplatesSuccess.nodes': 'six',
  'ReadyMadeFlowsSuccess.nodes': 'twelve',
  'ReadyMadeFlow.needs': 'at most five',
  'AutomationDryRun.paths': 'DRY_ENTRIES_MAX of each of DRY_PEOPLE_MAX people',
  'AutomationDryRun.triggersLeftOut': 'types of the triggers of a flow',
  'AutomationDryRun.counts': 'one for each node of a flow',
  'DryRunPath.steps': 'each node of a flow, ten times (PASSES_MAX) at most',
  'AutomationEnrolmentPreview.refused': 'one for each reason',
  'AutomationEnrolmentPreview.triggers': 'types of the triggers of a flow',
  'AutomationEnrolmentPreview.triggersLeftOut': 'types of the triggers of a flow',
  'AutomationEnrolment.refused': 'one for each reason',
  'AutomationEnrolmentsSuccess.nodes': 'ENROLMENTS_KEPT of an automation',
  'AutomationTestsSuccess.nodes': 'FLOW_TESTS_SHOWN of an automation',
  'AutomationTest.steps': 'FLOW_TEST_STEPS_MAX of a test',
  'WebhookEventsSuccess.nodes': 'twenty-six, from the code',
  'Automation.triggers': 'ten (TRIGGERS_MAX)',
  'AutomationCounts.versions': 'the live one, and VERSIONS_AT_ONCE',
  'AutomationMoves.nodes': 'a thousand (NODES_SHOWN_MAX)',
  'AutomationMoves.faults': 'as AutomationCheck.faults',
  'AutomationVersionCounts.nodes': 'FLOW_NODES_MAX of a flow',
  'AutomationCheck.faults': 'a hundred (FAULTS_SHOWN_MAX), and those of the references of a flow',
  'AutomationCheck.warnings': 'a hundred (FAULTS_SHOWN_MAX)',
  'PublishedAutomation.warnings': 'a hundred (FAULTS_SHOWN_MAX)',
  'ValidationError.faults': 'as AutomationCheck.faults',
  'TemplatePreview.warnings': 'as CampaignPreview.warnings',
  'OfferedPluginsSuccess.nodes': 'the active plugins of an installation',
  'OfferedPlugin.scopes': 'RIGHTS_MAX of a manifest',
  'PluginRights.scopes': 'RIGHTS_MAX of a manifest',
  'PluginRights.hooks': 'RIGHTS_MAX of a manifest',
  'PluginRights.hosts': 'RIGHTS_MAX of a manifest',
  'PluginRights.browserHosts': 'RIGHTS_MAX of a manifest',
  'DiscoverPluginsSuccess.nodes': 'as PluginsSuccess.nodes',
  'Campaign.attachments': 'MESSAGE_FILES_MAX of a campaign',
  'ListField.options': 'FIELD_OPTIONS_MAX of a field',
  'Campaign.warnings': 'a sentence that the html is clipped',
  'Campaign.testMessages': 'TESTS_SHOWN of a campaign',
  'Installation.processes': 'the processes of an installation, cut at a thousand',
  'Installation.stalledCampaigns': 'cut at a thousand',
  'InstallationProcess.roles': 'three',
  'AcceptedMails.mails': 'RECIPIENTS_MAX of a call',
  'TransactionalMail.tags': 'TAGS_MAX of a mail',
  'CampaignPreview.headers': 'a message has one block of them',
  'CampaignPreview.links': 'LINKS_MAX of a message',
  'CampaignPreview.warnings': 'one for each unknown tag or picture of a text that is bounded',
  'DryRun.faults': 'FAULTS_KEPT_MAX of a run',
  'DryRun.skipped': 'one for each reason',
  'SenderCheck.problems': 'a sentence for each thing that a sender may lack',
  'SendingDomain.dkimKeys': 'one of each kind and the one it takes the place of',
  'SendingDomain.records': 'the records of one domain, ten or so',
  'SendingDomainRecord.pieces': 'one record in pieces of 255 bytes',
  'SendingDomainRecord.problems': 'a sentence for each fault of one record',
  'SendingDomainRecord.seen': 'what one look-up answers, bounded by a DNS message',
  'QueuedTests.messages': 'TEST_ADDRESSES_MAX of a test',
  'TemplateTests.tests': 'TEST_ADDRESSES_MAX of a test',
  'SendingRoutesSuccess.nodes': 'at most a hundred servers by weight',
  'SendingRoutes.servers': 'at most a hundred servers by weight',
  'Plan.sendingServers': 'at most a hundred servers by weight',
  'Campaign.sendingServers': 'at most a hundred servers by weight',
  'Campaign.sendTimes': 'one for each time zone of the people and day',
  'SendingServer.mailboxHealth': 'only those that are not well, cut at ten thousand',
  'CampaignLogPage.columns': 'nine at most',
  'Allowance.limits': 'one for each limit that plans count',
  'AuditEvent.fields': 'the names of one input (AUDIT_FIELDS_MAX)',
  'SignUp.ignoredFields': 'the fields of one form',
  'InstallationQueue.processes': 'the processes of an installation, cut at a thousand',
  'InstallationQueue.tasks': 'one for each kind of job',
  'CampaignChanges.changed': 'CHANGES_MAX in an event',
  'CampaignChanges.deletedUids': 'CHANGES_MAX in an event',
  'Installation.diagnostics': 'one for each check that the program has',
  'UnsubscribedFromLists.subscribers': 'one for each list of the customer that has the address',
  'RecoveryCodes.recoveryCodes': 'ten',
  'CampaignStatistics.links': 'the links of one mail, bounded when it is compiled',
  'CampaignStatistics.topLocations': 'ten (decision D23)',
  'CampaignStatistics.topOpenSubscribers': 'ten (decision D23)',
  'SendingServerTypesSuccess.nodes': 'the drivers that are installed',
  'SendingServerIdentitiesSuccess.nodes': 'the senders of one account, cut at a thousand (IDENTITIES_SHOWN_MAX)',
  'SendingServerIdentity.records': 'the records of one sender, cut at twenty (RECORDS_SHOWN_MAX)',
  'SendingServerType.configKeys': 'the settings of one driver',
  'SendingServerType.secretKeys': 'the settings of one driver',
  'EmailVerificationServerTypesSuccess.nodes': 'the verifiers that are installed',
  'EmailVerificationServerType.configKeys': 'the settings of one verifier',
  'EmailVerificationServerType.secretKeys': 'the settings of one verifier',
  'UsableVerificationServersSuccess.nodes': 'cut at a hundred',
  'SubscriberVerification.reasons': 'VERIFICATION_REASONS_MAX of an answer',
  'Plan.verificationServers': 'VERIFICATION_SERVERS_PER_CUSTOMER_MAX of a plan',
  'Invoice.paymentGateways': 'at most a hundred (GATEWAYS_MAX)',
  'PaymentMethodsSuccess.nodes': 'the newest hundred (METHODS_SHOWN_MAX)',
  'PaymentGatewayTypesSuccess.nodes': 'the gateways that active plugins provide',
  'PaymentGateway.remotePlanLinks': 'the plans of the installation (PLANS_MAX)',
  'PaymentGateway.unknownSubscriptions': 'cut at a thousand (UNKNOWN_MAX)',
  'RemotePlansSuccess.nodes': 'the plans of one account at its vendor, ten thousand at most',
  'PaymentGatewayType.configKeys': 'the settings of one gateway',
  'PaymentGatewayType.secretKeys': 'the settings of one gateway',
  'WebhookDelivery.attempts': 'cut at sixty (ATTEMPTS_SHOWN_MAX)',
  'PaymentGatewayType.currencies': 'the currencies of the world',
  'MailList.fields': 'a hundred (LIST_FIELDS_MAX)',
  'PersonalDataSummary.tables': 'the tables that hold something of people (PERSONAL_PLACES)',
  'MailList.mails': 'one of each kind',
  'ListMailPreview.warnings': 'a sentence for each odd tag of one mail',
  'MailList.tags': 'a thousand (TAGS_SHOWN_MAX)',
  'MailListImport.columns': 'the columns of one file, two thousand at most (CELLS_MAX)',
  'MailListImport.notices': 'a sentence for each kind of oddity of a file',
  'RejectedImportLine.cells': 'one line of a file, two thousand at most (CELLS_MAX)',
  'CountriesSuccess.nodes': 'the countries of the world',
  'CurrenciesSuccess.nodes': 'the currencies of the world',
  'LanguagesSuccess.nodes': 'the languages of this product',
  'CreditBalancesSuccess.nodes': 'one a currency that the customer paid in',
  'Plan.optionsWithoutEffect': 'three at most',
  'Invoice.lines': 'four at most (proration.ts)',
  'Invoice.payments': 'ten at most (CLAIMS_PER_INVOICE_MAX), and one that is recorded',
  'SubscribersByEmailSuccess.nodes': 'one a list of the caller, a thousand at most',
  'Subscriber.consentEvents': 'the newest hundred',
  'Subscriber.tags': 'a hundred (TAGS_MAX)',
  'ApiToken.scopes': 'there are a dozen scopes',
  'FieldError.messages': 'a few sentences',
  'ValidationError.fields': 'the fields of one input',
};

const rootTypes = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].filter(
  (type) => type !== undefined && type !== null,
);
const objectTypes = Object.values(schema.getTypeMap())
  .filter((type) => isObjectType(type))
  .filter((type) => !type.name.startsWith('__'));

interface PothosOptions {
  readonly authScopes?: unknown;
  readonly description?: string;
}

function optionsOf(thing: { extensions: object }): PothosOptions {
  const options: unknown = Reflect.get(thing.extensions, 'pothosOptions');
  return typeof options === 'object' && options !== null ? options : {};
}

function fieldsOf(type: GraphQLObjectType): [name: string, field: GraphQLField<unknown, unknown>][] {
  return Object.values(type.getFields()).map((field) => [`${type.name}.${field.name}`, field]);
}

const rootFields = rootTypes.flatMap(fieldsOf);
const allFields = objectTypes.flatMap(fieldsOf);
const isList = (type: GraphQLOutputType) => isListType(isNonNullType(type) ? type.ofType : type);

describe('every root field', () => {
  test.each(rootFields)('%s names its right', (name, field) => {
    const { authScopes } = optionsOf(field);
    expect(authScopes).toBeDefined();
    const isPublic = JSON.stringify(authScopes) === '{"public":true}';
    expect(isPublic).toBe(PUBLIC_FIELDS.includes(name));
  });

  test.each(rootFields)('%s says what it does', (_name, field) => {
    expect(field.description).toBeTruthy();
  });
});

test('every type names its right, or is part of one that does', () => {
  const roots = new Set(rootTypes.map(({ name }) => name));
  // A value that only one type has is guarded by it; what several ways lead to needs a guard of its own.
  const ways = (type: GraphQLObjectType) =>
    new Set(allFields.filter(([, field]) => getNamedType(field.type) === type).map(([name]) => name.split('.')[0]))
      .size;
  const open = objectTypes.filter(
    (type) =>
      !roots.has(type.name) && !SHELLS.test(type.name) && optionsOf(type).authScopes === undefined && ways(type) > 1,
  );
  expect(open.map(({ name }) => name)).toEqual([]);
});

describe('one channel of errors', () => {
  const errorTypes = objectTypes
    .filter((type) => type.getInterfaces().some(({ name }) => name === 'Error'))
    .map(({ name }) => name);
  const answering = rootFields.filter(([name]) => !name.startsWith('Subscription.'));

  test.each(answering)('%s answers its value or one of the errors', (_name, field) => {
    const result = getNamedType(field.type);
    if (!isUnionType(result)) throw new Error(`${result.name} is no union.`);
    expect(result.name).toBe(`${field.name.charAt(0).toUpperCase()}${field.name.slice(1)}Result`);
    const members = result.getTypes().map(({ name }) => name);
    expect(members).toEqual(expect.arrayContaining(errorTypes));
    expect(members).toHaveLength(errorTypes.length + 1);
    // Many values stand in `nodes`, as in pages and connections; a list of unions would have an error for each.
    expect(isListType(getNullableType(field.type))).toBe(false);
  });

  test('a subscription answers its value: an error ends it', () => {
    const subscriptions = rootFields.filter(([name]) => name.startsWith('Subscription.'));
    expect(subscriptions.filter(([, field]) => !isObjectType(getNamedType(field.type)))).toEqual([]);
  });
});

test('every argument for a number of rows says its limit', () => {
  const sizes = allFields.flatMap(([name, field]) =>
    field.args
      .filter((argument) => ['first', 'last', 'perPage'].includes(argument.name))
      .map((argument) => ({ name, field, argument })),
  );
  expect(sizes.length).toBeGreaterThan(40);
  const silent = sizes.filter(({ field, argument }) => {
    const result = getNamedType(field.type);
    const members = (isUnionType(result) ? result.getTypes() : [result]).map((type) => type.name);
    const isConnection = members.some((member) => member.endsWith('Connection'));
    const isPage = field.args.some((one) => one.name === 'page');
    const limit = isConnection ? FIRST_MAX : isPage ? PER_PAGE_MAX : '\\d+';
    return !new RegExp(`at most ${limit}\\b`, 'i').test(argument.description ?? '');
  });
  expect(silent.map(({ name, argument }) => `${name}(${argument.name})`)).toEqual([]);
});

test('every list is bounded by an argument, or short by nature', () => {
  const unbounded = allFields.filter(([name, field]) => {
    if (!isList(field.type) || SHORT_LISTS[name] !== undefined) return false;
    if (/(Connection|Page)\.(edges|nodes)$/.test(name)) return false;
    return !field.args.some((argument) => ['first', 'perPage'].includes(argument.name));
  });
  expect(unbounded.map(([name]) => name)).toEqual([]);
  expect([FIRST_MAX, PER_PAGE_MAX]).toEqual([100, 1_000]);
});
