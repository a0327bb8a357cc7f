/** The published contract between the host and its plugins; plugins import nothing else from the program. */
export { CONTRACT_VERSION, definePlugin, type DeclaredHook, type Plugin } from './define-plugin.ts';
export type {
  AddedCustomer,
  Behavior,
  BehaviorHooks,
  EventHooks,
  FilterCallback,
  FilterHooks,
  HookCalls,
  HookName,
  HookOrder,
  HookPattern,
  HookRegistration,
  Listener,
  RegistryHooks,
  UploadedImport,
} from './hooks.ts';
export type {
  GraphqlAccess,
  GraphqlCaller,
  GraphqlPart,
  GraphqlResolver,
  GraphqlStream,
  PluginViewer,
} from './graphql.ts';
export {
  PLUGIN_EVENT_KINDS,
  type EventFollower,
  type PluginEvent,
  type PluginEventKind,
  type PluginEventKinds,
  type RecordedEventHooks,
} from './events.ts';
export type {
  CronLine,
  DailyTask,
  EnqueueJobOptions,
  JobPayload,
  PluginJob,
  PluginJobs,
  PluginRun,
  SlotRun,
} from './jobs.ts';
export type { Audience, Label, MenuItem, PageAsset, PageSection, SidebarGroup } from './pages.ts';
export { allowsHook, NO_RIGHTS, rightsBeyond, type PluginRights } from './plugin-rights.ts';
export type { PageData, PageOutcome, PageRequest, PageSubmission, PluginPage } from './plugin-page.ts';
export type {
  SettingField,
  SettingsChange,
  SettingsForm,
  SettingsService,
  SettingType,
  SettingValues,
} from './plugin-settings.ts';
export type { PluginTexts, TranslationFile } from './plugin-texts.ts';
export type { LiquidFilter } from './liquid-filter.ts';
export {
  TEMPLATE_HTML_LENGTH_MAX,
  TEMPLATE_PLAIN_LENGTH_MAX,
  TEMPLATES_MAX,
  type MailTemplate,
} from './mail-template.ts';
export type { MergeTag, TaggedMessage, TagRecipient, TagValuesByUid } from './merge-tag.ts';
export {
  IMPORT_REFUSAL_LENGTH_MAX,
  SKIP_REASON_LENGTH_MAX,
  type ComposedMessage,
  type ImportedRow,
  type MessageToSend,
  type RecipientCheck,
  type RefusedRow,
  type SkippedMessage,
  type SkipReasons,
} from './messages.ts';
export type {
  ConditionPage,
  ConditionParameter,
  ConditionParameterType,
  ConditionQuestion,
  ConditionValues,
  SegmentCondition,
} from './segment-condition.ts';
export {
  VERIFICATION_REASONS_MAX,
  VERIFICATION_RESULTS,
  VerifierError,
  type EmailVerifier,
  type EmailVerifierRegistration,
  type VerificationResult,
  type VerifiedAddress,
  type VerifierOptions,
} from './email-verifier.ts';
export { httpVerifier, verifierFailureByStatus, type AskVerifier, type HttpVerifierVendor } from './http-verifier.ts';
export type { PluginDatabase, QueryAnswer, Statements } from './plugin-database.ts';
export type { FetchAnswer, FetchOptions, PluginFetch } from './plugin-fetch.ts';
export type { ForCustomer, GraphqlAnswer, RunGraphql } from './plugin-graphql.ts';
export type { PluginLog, PluginServices } from './plugin-services.ts';
export {
  GatewayError,
  type AutoChargeGateway,
  type GatewayCheck,
  type GatewayData,
  type GatewayRecord,
  type IntentGateway,
  type IntentStatus,
  type OpenedCheckout,
  type PaymentGatewayRegistration,
  type PaymentGatewayService,
  type PaymentIntent,
  type PaymentMethodData,
  type PaymentsService,
  type PeriodPayment,
  type RemotePeriod,
  type RemotePeriodPage,
  type RemotePlan,
  type RemoteSubscription,
  type RemoteSubscriptionGateway,
  type RemoteSubscriptionPage,
  type SubscriptionGateway,
  type VendorIntent,
} from './payment-gateway.ts';
export type { Route, RouteAnswer, RouteRequest } from './routes.ts';
export type { RestAnswer, RestGiven, RestParameter, RestRow } from './rest.ts';
export {
  SENDER_REFUSED,
  SendingError,
  type ConnectionTest,
  type DriverOptions,
  type DriverSettings,
  type FailureMatter,
  type OutgoingMessage,
  type SendResult,
  type SenderRule,
  type SendingDriver,
  type SendingDriverRegistration,
  type SendingErrorDetails,
  type SendingErrorKind,
  type SettingsCheck,
  type SettingsInput,
} from './sending-driver.ts';
export { askVendor, failureByStatus, httpDriver, textOf, type AskVendor, type HttpVendor } from './http-driver.ts';
export { readVendor, type ReadableVendor } from './read-vendor.ts';
export {
  jsonOf,
  NoAnswerError,
  retryAfterSeconds,
  type OpenVendorHttp,
  type VendorAnswer,
  type VendorHttp,
  type VendorRequest,
} from './vendor-http.ts';
export type { IdentityMail, VendorDnsRecord, VendorIdentities, VendorIdentity } from './vendor-identities.ts';
export { hideBraces, htmlOfText } from './html-of-parts.ts';
export { readMessageParts, type MessageAddress, type MessageFile, type MessageParts } from './message-parts.ts';
export {
  checkSettings,
  choiceOf,
  connectionsField,
  endpointField,
  optionalLine,
  optionalNumber,
  requiredLine,
  webhookFields,
  type SettingsFields,
} from './check-settings.ts';
export { smtpPreset, type SmtpPreset } from './smtp-preset.ts';
export {
  newWebhookKey,
  isWebhookKey,
  knowsWebhookAddress,
  sameText,
  WEBHOOK_KEYS,
  webhookAddress,
} from './webhook-proof.ts';
export type {
  BouncedEvent,
  ComplainedEvent,
  DeliveredEvent,
  IgnoredEvent,
  UnsubscribedEvent,
  WebhookEvent,
  WebhookReceiver,
  WebhookRequest,
} from './webhook.ts';
export { connectionFaultInWords } from '../lib/connection-faults.ts';
export { formsOfPassword, hideSecrets } from '../lib/hide-secrets.ts';
export {
  ForbiddenError,
  NotFoundError,
  ValidationError,
  WebhookBusyError,
  WrongStateError,
  type FieldErrors,
} from '../lib/errors.ts';
