/**
 * What the specification promises about plugins (3.5, 3.6, 4.11, 4.13, 6.4, with decisions D38 to D40, D44, D64 to D67), one sentence a line, each with
 * the test that plays it on a running product. Where it matters that there are several processes, the second test has at least two.
 */
import { gatewaySentences } from './gateway-sentences.ts';
import { one, two, type Sentence } from './sentence.ts';

const LIFE = 'test/plugins/lifecycle.test.ts';
const TWO = 'test/plugins/life-on-two-processes.test.ts';
const PROCESSES = 'test/plugins/processes.test.ts';
const LAYOUT = 'test/plugins/layout.test.ts';
const PATTERNS = 'test/plugins/hook-patterns.test.ts';
const INSTALL = 'test/plugins/install.test.ts';
const UPGRADE = 'test/app/upgrade.test.ts';
const LICENSE = 'test/rest-facade/license.test.ts';
const ROUTES = 'test/plugins/routes-and-files.test.ts';
const SLOTS = 'test/plugins/extension-slots.test.ts';
const SERVICES = 'test/plugins/services.test.ts';

const FOUND = 'discovered: a row with status inactive, register() has run, the hooks of boot() are off';
const FIRST = 'first activation: migrations run, the hook is fired once, routes and hooks are live';
const PAUSED = 'deactivated at the other process: hooks and routes are off, folder and tables stay';
const AGAIN = 're-activated: neither migrations nor the hook';
const GONE = 'deleted with keep_data %s: folder and row are gone, the hook is fired';
const WRONG = 'what is registered in the wrong phase, or is unknown, is refused: %s %s';
const FOLDERS = 'routes.ts, index.ts, the provider, controllers, models, migrations, views and texts work together';
const EVENTS = 'EVENT customer_added: all listeners get the customer; what they return or throw changes nothing';
const REGISTERED = 'REGISTRYs of the register phase: drivers, their family and translations; layout files';
const IMPORTS = 'BEHAVIOR dispatch_list_import_job: one plugin performs it, a second claim is refused and names both';
const REFUSED = '%s: refused, and nothing was written';
const PHASES = 'each phase is broken once, then the newer version takes the place of the running one';

const lifecycle: readonly Sentence[] = [
  two('3.5', 'A plugin that is found has an index file and a row with the status inactive.', [TWO, FOUND]),
  two('3.5', 'The register() of its provider has run.', [TWO, FOUND]),
  two('3.5', 'The hooks of boot() stay off until the activation.', [TWO, FOUND]),
  two('3.5', 'The first activation makes it active.', [TWO, FIRST]),
  two('3.5', 'The first activation fires activate_plugin_<vendor>/<name> once.', [TWO, FIRST]),
  {
    ...one('3.5', 'The first activation runs its migrations.', [TWO, FIRST]),
    onTwo: [PROCESSES, 'several processes that activate at once do it once'],
  },
  two('3.5', 'The activation mounts its routes.', [TWO, FIRST]),
  two('3.5', 'The activation makes its hooks live.', [TWO, FIRST]),
  two('3.5', 'Deactivating makes it inactive and pauses its hooks.', [TWO, PAUSED]),
  two('3.5', 'Deactivating unmounts its routes.', [TWO, PAUSED]),
  two('3.5', 'Deactivating keeps folder and tables.', [TWO, PAUSED]),
  two('3.5', 'A further activation makes it active.', [TWO, AGAIN]),
  two('3.5', 'A further activation does not run migrations again.', [TWO, AGAIN]),
  two('3.5', 'A further activation does not fire the hook again.', [TWO, AGAIN]),
  two('3.5', 'Deleting an inactive plugin removes its folder.', [TWO, GONE]),
  two('3.5', 'Deleting removes its row.', [TWO, GONE]),
  two('3.5', 'Deleting fires delete_plugin_<vendor>/<name>.', [TWO, GONE]),
  two('3.5', 'Without keepData its migrations are rolled back.', [TWO, GONE]),
  two('3.5', 'With keepData its tables stay.', [TWO, GONE]),
  {
    ...one('3.5', 'Only tables with the prefix of the plugin are dropped.', [
      LIFE,
      'what one deletion takes away is this plugin’s only',
    ]),
    onTwo: [TWO, GONE],
  },
  two('3.5', 'It is always in exactly one state, also after kill -9.', [
    PROCESSES,
    'kill -9 in the middle of an activation leaves it inactive or active, never half',
  ]),
  one('3.5', 'An activation that fails leaves all as it was, with the reason on the row.', [
    LIFE,
    'an activation that fails leaves all as it was: %s',
  ]),
  one('3.5', 'An administrator activates it by the API; nobody else can.', [
    LIFE,
    'only administrators see and change plugins',
  ]),
];

const endpoints: readonly Sentence[] = [
  {
    ...one('4.11', 'POST /plugins/install installs a plugin from an address.', [
      INSTALL,
      'a plugin from an address is checked, unpacked and inactive; then it can be activated',
    ]),
    onTwo: [TWO, 'installed at one machine: activated at another one, it is live on both'],
  },
  one('D39', 'GET /plugins, activate, deactivate and DELETE do what GraphQL does.', [
    LIFE,
    'REST does the same, and every change is in the audit trail',
  ]),
  one('D39', 'keep_data is true unless it is given.', [
    LIFE,
    'the first activation runs the migrations and fires the hook once; hooks are live',
  ]),
  one('D39', 'Deleting an active plugin is a 422.', [
    LIFE,
    'REST does the same, and every change is in the audit trail',
  ]),
  one('D39', 'install needs url and sha256.', [INSTALL, REFUSED]),
  one('D39', 'sha256 is not required where the operator has turned that off.', [
    INSTALL,
    'with keys of its own an installation takes what one of them has signed, and nothing else',
  ]),
  one('D39', 'A zip or a tgz is taken.', [
    INSTALL,
    'a plugin from an address is checked, unpacked and inactive; then it can be activated',
  ]),
  one('D39', 'Escapes, size and count are checked before anything is written.', [INSTALL, REFUSED]),
  one('4.11', 'POST /upgrade/run downloads and unpacks a release beside the running one.', [UPGRADE, PHASES]),
  one('D40', 'upgrade/run takes only what the release key has signed.', [UPGRADE, PHASES]),
  one('4.11', 'POST /upgrade/run-file applies one migration step.', [UPGRADE, PHASES]),
  one('4.11', 'POST /upgrade/finalize is another request after run.', [UPGRADE, PHASES]),
  one('D40', 'finalize applies what is left, and the newer version takes over.', [UPGRADE, PHASES]),
  one('D40', 'A failure at any step leaves the running version as it was.', [UPGRADE, PHASES]),
  one('4.11', 'POST /license/refresh reads the license again.', [
    LICENSE,
    'a document is believed when one of the keys has signed it; a wrong one changes nothing',
  ]),
  one('D40', 'Without a license the installation is the community edition.', [
    LICENSE,
    'without a document it is the community edition',
  ]),
  one('D44', 'An installation is not downloaded from a private address.', [INSTALL, REFUSED]),
  one('D44', 'A license is read from a private address only where the operator allows it.', [
    LICENSE,
    'a document at an address; private ones only where the operator allows it',
  ]),
];

const layout: readonly Sentence[] = [
  one('D38', 'The package is named @vendor/name.', [LAYOUT, FOLDERS]),
  one('D38', 'The package may also be named vendor/name.', [LAYOUT, 'the name in package.json may also be without @']),
  one('D38', 'package.json, its entry and its names are checked.', [
    LIFE,
    'a folder with a fault is shown with it, and is not activated: %s',
  ]),
  one('4.13', 'routes.ts, index.ts, src/service-provider.ts, src/controllers and src/models are its code.', [
    LAYOUT,
    FOLDERS,
  ]),
  one('4.13', 'database/migrations makes its tables.', [LAYOUT, FOLDERS]),
  one('4.13', 'resources/views has its views.', [LAYOUT, FOLDERS]),
  one('4.13', 'resources/lang has its texts.', [LAYOUT, FOLDERS]),
  one('4.13', 'tests are no part of the running plugin.', [LAYOUT, FOLDERS]),
  one('4.13', 'The names of its tables begin with the vendor.', [
    LIFE,
    'an activation that fails leaves all as it was: %s',
  ]),
  one('4.13', 'Its views are found by its own name.', [
    LAYOUT,
    'a view belongs to its plugin: another plugin has one of the same name',
  ]),
  two('4.13', 'Its routes are mounted below plugins/<vendor>/<name>.', [TWO, FIRST]),
  one('4.13', 'Its routes need a session unless it says otherwise.', [ROUTES, 'who asks']),
  {
    ...one('4.13', 'Its REST rows stand below /api/v1/<plugin>/ and are asked with the API token.', [
      LAYOUT,
      'a REST row stands below /api/v1/<plugin>/ and is asked with an API token',
    ]),
    onTwo: [
      'test/plugins/api-processes.test.ts',
      'a part reaches both processes, a start finds it, and sockets of both stay connected',
    ],
  },
  one('4.13', 'The name of a plugin that equals a part of the core API is refused.', [
    LIFE,
    'a plugin may not have the name of a part of the REST interface',
  ]),
  two('D38', 'Bundled plugins live in the program; the folder of one can be removed.', [
    PROCESSES,
    'the folder of a bundled plugin can be removed: its type is gone, and its servers say so',
  ]),
];

const MAILGUN = 'test/plugins/mailgun.test.ts';
const WEBHOOK = 'test/inbound/webhook.test.ts';
const SAVED = 'settings are checked field by field, then tried, and stored only when both pass';
const TYPES = 'a server whose driver shows no senders says so, and the types tell what their vendors can';
const SENDERS = 'the domains of the account are shown, added and checked';
const REPORTED = 'a genuine event is recorded by the id that the vendor gave the message, once';
const FAULTS = 'a campaign with faults through $type';

const drivers: readonly Sentence[] = [
  one(
    '4.13',
    'One entry under register_sending_server_driver registers a driver: its type, functions and config_keys.',
    [MAILGUN, TYPES],
  ),
  one('4.13', 'An entry has the name, description and icon of its card.', [PATTERNS, REGISTERED]),
  one('4.13', 'The create_url is derived from the type when it is omitted.', [PATTERNS, REGISTERED]),
  one('4.13', 'send hands a message over, and throws on failure.', ['test/workers/vendor-faults.test.ts', FAULTS]),
  one('4.13', 'setupBeforeSend (here prepareSender) is called with the From address before its first message.', [
    'test/workers/prepared-senders.test.ts',
    'a sender that is not verified stops the campaign before the first message, and says so',
  ]),
  one('4.13', 'send returns the runtimeMessageId that bounces and complaints name.', [WEBHOOK, REPORTED]),
  one('4.13', 'test calls a real authenticated read endpoint of the vendor.', [MAILGUN, SAVED]),
  one('4.13', 'On save the fields are validated, then test is called; stored is what passes both.', [MAILGUN, SAVED]),
  one('4.13', 'A failed test is an error of `connection`.', [MAILGUN, SAVED]),
  one('4.13', 'The names of the fields are the config_keys.', [MAILGUN, SAVED]),
  one('4.13', 'The vendor posts its reports to /webhook/{type}/{uid}; the driver verifies and parses them.', [
    WEBHOOK,
    REPORTED,
  ]),
  one('4.13', 'The driver says the address of its webhook.', [MAILGUN, SAVED]),
  one('4.13', 'An unknown event of a webhook is ignorable, and not dropped in silence.', [WEBHOOK, REPORTED]),
  one('4.13', 'A driver reports that a person has unsubscribed at the vendor.', [
    'test/inbound/reported-unsubscribes.test.ts',
    'a genuine report of $type unsubscribes from the list of its message, once',
  ]),
  one('4.13', 'While reports cannot be taken, the vendor is answered what makes it come again, and nothing is lost.', [
    'test/plugins/vendor-campaigns-running.test.ts',
    'while the database is away every vendor is told to come again in its own way, and then nothing is lost',
  ]),
  one('4.13', 'What a driver says of a message is true, whatever the vendor or the network does.', [
    'test/plugins/api-faults.test.ts',
    'tells the truth about every message, loses none and leaves no socket, whatever the vendor does',
  ]),
  one('4.13', 'Reports are looked up by runtimeMessageId, again for up to 5 seconds.', [
    WEBHOOK,
    'an event that comes before its message was recorded finds it within seconds; nobody waits for it',
  ]),
  one('4.13', 'The look-up ends after 5 seconds.', [WEBHOOK, 'the look-up ends after five seconds']),
  one(
    '4.13',
    'Custom Return-Path: a driver says whether bounces come back by mail, or only by reports of the vendor.',
    [
      'test/plugins/bounces-of-vendors.test.ts',
      'a vendor that takes bounces itself: its server warns until a report arrives, and records of the return-path are not asked for',
    ],
  ),
  one(
    '4.13',
    'Local domain verify: a driver says whether a domain that is verified here is enough, or only at the vendor.',
    [
      'test/domain/campaigns/senders-at-vendors.test.ts',
      'the start names server and domain; after the domain was verified it works; the vendor is asked once',
    ],
  ),
  one('4.13', 'Local email verify: the same for single addresses.', [
    'test/domain/campaigns/senders-at-vendors.test.ts',
    '%s is enough',
  ]),
  one('4.13', 'Cross-sending domains: a driver says whether what another server has verified counts.', [
    'test/domain/campaigns/senders-at-vendors.test.ts',
    'each server that would send must know the sender, unless their accounts share senders',
  ]),
  one('4.13', 'A driver with identity sync shows the senders of the account.', [MAILGUN, SENDERS]),
  one('4.13', 'A driver with remote domain verification adds domains at the vendor and has them checked.', [
    MAILGUN,
    SENDERS,
  ]),
  one('4.13', 'Custom verification email: a driver may have the vendor send a mail of our own text to an address.', [
    'test/plugins/amazon-senders.test.ts',
    'an address is added with a mail of our own text, by GraphQL and REST',
  ]),
  one('4.13', 'What only some drivers can do is told by the type of the server.', [MAILGUN, TYPES]),
];

const hooks: readonly Sentence[] = [
  {
    ...one('6.4', 'customer_added is fired with the customer.', [PATTERNS, EVENTS]),
    onTwo: [TWO, AGAIN],
  },
  one('6.4', 'plan_changed is fired when a plan changes.', [
    PATTERNS,
    'EVENTs plan_changed and subscription_terminated',
  ]),
  one('6.4', 'subscription_terminated is fired when a subscription ends.', [
    PATTERNS,
    'EVENTs plan_changed and subscription_terminated',
  ]),
  two('6.4', 'activate_plugin_<vendor>/<name> is fired by the first activation.', [TWO, FIRST]),
  two('6.4', 'delete_plugin_<vendor>/<name> is fired by a deletion.', [TWO, GONE]),
  one('6.4', 'ai_task_completed is fired by a plugin, and plugins may register further events.', [
    PATTERNS,
    'EVENT ai_task_completed is fired by a plugin, and so is one that a plugin declares',
  ]),
  one('6.4', 'REGISTRY: every plugin contributes, and the results are merged.', [
    PATTERNS,
    'REGISTRY: what every plugin adds is merged',
  ]),
  one('6.4', 'EVENT: all listeners run.', [PATTERNS, EVENTS]),
  one('6.4', 'EVENT: what a listener returns is discarded.', [PATTERNS, EVENTS]),
  one('6.4', 'BEHAVIOR: one plugin performs it.', [PATTERNS, IMPORTS]),
  one('6.4', 'BEHAVIOR: a second claim throws at once.', [PATTERNS, IMPORTS]),
  one('6.4', 'BEHAVIOR: setIfEmpty counts where nobody has set it.', [PATTERNS, IMPORTS]),
  one('6.4', 'FILTER: each callback gets the value and returns the next.', [
    PATTERNS,
    'FILTER sidebar-menu-items: each callback gets the value that the one before has returned',
  ]),
  one('6.4', 'register_sending_server_driver adds a type of sending server.', [PATTERNS, REGISTERED]),
  one('6.4', 'register_sending_server_* is a family of registries.', [PATTERNS, REGISTERED]),
  one('6.4', 'add_translation_file adds texts.', [PATTERNS, REGISTERED]),
  one('6.4', 'add_translation_file is refused in boot().', [PATTERNS, WRONG]),
  one('6.4', 'All other hooks are registered in boot(); others in register() are refused.', [PATTERNS, WRONG]),
  one('6.4', 'layout.head.assets and layout.body.before_close add files to pages.', [PATTERNS, REGISTERED]),
  one('6.4', 'admin.sidebar.groups adds groups for administrators.', [
    SLOTS,
    'an administrator gets those for administrators, too; a hostile label is plain text',
  ]),
  one('6.4', 'page.<ctrl>.<action>.<slot> adds sections to a page.', [
    PATTERNS,
    'REGISTRY: what every plugin adds is merged',
  ]),
  one('6.4', 'sidebar-menu-items changes the menu.', [
    SLOTS,
    'a customer gets the entries for everybody, in their order, with the plugin of each',
  ]),
  one('6.4', 'dispatch_list_import_job starts an import in place of the product.', [PATTERNS, IMPORTS]),
];

const decisions: readonly Sentence[] = [
  one('2.5', 'A plugin records events of people, under its own name, and automations begin and end by them.', [
    'test/plugins/plugin-events.test.ts',
    'begin and end automations under the plugin’s name, and under no other',
  ]),
  {
    ...one('D64', 'A fault that is thrown is caught, and its plugin is named and counted.', [
      'test/plugins/faulty-plugins.test.ts',
      'an exception and a rejection that nobody catches, also of values that are no errors',
    ]),
    onTwo: ['test/plugins/switched-off.test.ts', 'that ends a worker process, by the program that has started it'],
  },
  one('D64', 'A plugin that ends the process three times is switched off.', [
    'test/plugins/switched-off.test.ts',
    'that ends the process whenever its code is loaded, though nobody has activated it',
  ]),
  one('D64', 'Sending loses nothing when plugins end the program.', [
    'test/plugins/faulty-plugins-and-mails.test.ts',
    'a campaign in the middle of which twelve plugins do harm',
  ]),
  two('D64', 'SAFE_MODE=1 starts with bundled plugins only.', [
    PROCESSES,
    'plugins that harm do not stop the start; SAFE_MODE starts without the code of added ones',
  ]),
  one('D65', 'What the manifest does not name is refused.', [
    'test/plugins/undeclared-calls.test.ts',
    'another scope: %s',
  ]),
  one('D65', 'An administrator grants the rights at the activation.', [
    SERVICES,
    'scopes and hosts are granted only if the administrator names them; a version that wants more waits',
  ]),
  one('D65', 'A customer that has not switched the plugin on sees nothing of it.', [
    'test/plugins/chosen-customers-apis.test.ts',
    'REST rows: 404 whatever was sent, before anything is done',
  ]),
  one('D65', 'What a new version wants beyond them waits, and the old version goes on.', [
    INSTALL,
    'a new version that wants more says so before it is activated',
  ]),
  {
    ...one('D66', 'EVENTs are delivered at least once, in the order of their object.', [
      'test/plugins/event-followers.test.ts',
      'a follower gets its kinds in order; a fault makes the same events come again, and none is left out',
    ]),
    onTwo: [
      'test/journeys/killed-followers.test.ts',
      'three kills in the middle of 20,000 events for three followers, one of a plugin',
    ],
  },
  one('D66', 'FILTERs on the sending path are synchronous.', [
    'test/workers/skipping-plugin.test.ts',
    'nothing that a faulty plugin does changes who gets mail: it is counted, and the others are heard',
  ]),
  one('D67', 'A plugin for another version of the contract is refused.', [
    LIFE,
    'a folder with a fault is shown with it, and is not activated: %s',
  ]),
  one('D67', 'A plugin for another version of a hook is refused.', [PATTERNS, WRONG]),
];

export const extensionSentences: readonly Sentence[] = [
  ...lifecycle,
  ...endpoints,
  ...layout,
  ...drivers,
  ...gatewaySentences,
  ...hooks,
  ...decisions,
];
