/** States, kinds and units are enums with a sentence for each value; what stays a string is listed with its reason. */
import { getNamedType, isEnumType, isInputObjectType, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { buildSchema } from '../../src/schema/build-schema.ts';

const types = Object.values(buildSchema().getTypeMap()).filter(({ name }) => !name.startsWith('__'));

/** Names of fields whose values are words of a set. */
const WORDS =
  /^(status|state|type|kind|event|reason|source|policy|protocol|encryption|entryPoint|\w+(Status|Kind|Unit|Policy|Alignment))$/;

/** Plugins extend the set, a uid is part of the word, or it is a sentence. */
const OPEN: Readonly<Record<string, string>> = {
  'PluginPackage.reason': 'a sentence',
  'Upgrade.reason': 'a sentence',
  'SendingServer.type': 'drivers of plugins',
  'SendingServerType.type': 'drivers of plugins',
  'EmailVerificationServer.type': 'verifiers of plugins',
  'EmailVerificationServerType.type': 'verifiers of plugins',
  'UsableVerificationServer.type': 'verifiers of plugins',
  'SendingServerIdentity.status': "the vendor's word",
  'OfferedPaymentGateway.type': 'gateways of plugins',
  'PaymentGateway.type': 'gateways of plugins',
  'PaymentGatewayType.type': 'gateways of plugins',
  'PaymentGatewayTest.reason': 'a sentence',
  'RemoteSubscription.status': "the vendor's word",
  'UnknownRemoteSubscription.status': "the vendor's word",
  'Verification.reason': 'a sentence',
  'DroppedMails.kind': 'names of jobs',
  'ConsentEvent.source': '`import:<uid>`',
  'Subscriber.source': '`import:<uid>`',
  'CustomerContact.state': 'a part of an address',
  'AutomationRun.reason': 'codes with ids of goals and exits',
  'AutomationStep.reason': 'codes with ids of goals and exits',
  'AutomationMail.reason': 'a sentence',
  'RefusedPeople.reason': 'as the refusals of `executeAutomation`',
  'FlowTestStep.reason': 'codes with ids of goals and exits',
  'DryRunStep.reason': 'codes with ids of goals and exits',
  'AcceptedMail.reason': 'also the statuses of subscribers',
  'Delivery.reason': 'a sentence',
  'Message.reason': 'a sentence',
  'TransactionalMail.reason': 'a sentence',
  'PaymentIntent.reason': 'a sentence',
  'InstallationHold.reason': 'a sentence',
  'RejectedImportLine.reason': 'a sentence',
  'SkippedPeople.reason': 'a sentence',
  'ListContact.state': 'a part of a country',
  'ListMail.kind': 'one of the words has a hyphen',
  'MailList.status': 'always `active`, for REST',
};

test('fields that answer one of a few words are enums', () => {
  const open = types
    .filter((type) => isObjectType(type))
    .flatMap((type) =>
      Object.values(type.getFields())
        .filter((field) => WORDS.test(field.name) && String(getNamedType(field.type)) === 'String')
        .map((field) => `${type.name}.${field.name}`),
    );
  expect(open.toSorted()).toEqual(Object.keys(OPEN).toSorted());
});

/** Why inputs stay texts. */
const OPEN_INPUTS: Readonly<Record<string, string>> = {
  'CreateSendingServerInput.type': 'drivers of plugins',
  'CreatePaymentGatewayInput.type': 'gateways of plugins',
  'UpdateSendingServerInput.type': 'drivers of plugins',
  'CreateEmailVerificationServerInput.type': 'verifiers of plugins',
  'UpdateEmailVerificationServerInput.type': 'verifiers of plugins',
  'ListContactInput.state': 'a part of a country',
  'ChangeListMailInput.kind': 'one of the words has a hyphen',
  'Mutation.resetListMail(kind)': 'one of the words has a hyphen',
  'Query.previewListMail(kind)': 'one of the words has a hyphen',
  'Mutation.rejectPayment(reason)': 'a sentence',
  'SegmentEventInput.event': 'names of events from outside',
};

test('inputs and arguments that take one of a few words are enums', () => {
  const isOpen = (name: string, type: Parameters<typeof getNamedType>[0]) =>
    WORDS.test(name) && String(getNamedType(type)) === 'String';
  const inputs = types
    .filter((type) => isInputObjectType(type))
    .flatMap((type) =>
      Object.values(type.getFields())
        .filter((field) => isOpen(field.name, field.type))
        .map((field) => `${type.name}.${field.name}`),
    );
  const args = types
    .filter((type) => isObjectType(type))
    .flatMap((type) => Object.values(type.getFields()).map((field) => ({ type, field })))
    .flatMap(({ type, field }) =>
      field.args.filter((arg) => isOpen(arg.name, arg.type)).map((arg) => `${type.name}.${field.name}(${arg.name})`),
    );
  expect([...inputs, ...args].toSorted()).toEqual(Object.keys(OPEN_INPUTS).toSorted());
});

test.each(types.filter((type) => isEnumType(type)).map((type) => [type.name, type] as const))(
  '%s says what it and each of its values means',
  (_name, type) => {
    const mute = type.getValues().filter(({ description }) => !description);
    expect([type.description, mute.map(({ name }) => name)]).toEqual([expect.any(String), []]);
  },
);
