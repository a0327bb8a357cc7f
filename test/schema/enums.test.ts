/** States, kinds and units are enums with a sentence for each value; what stays a string is listed with its reason. */
import { getNamedType, isEnumType, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { buildSchema } from '../../src/schema/build-schema.ts';

const types = Object.values(buildSchema().getTypeMap()).filter(({ name }) => !name.startsWith('__'));

/** Names of fields whose values are words of a set. */
const WORDS =
  /^(status|state|type|kind|event|reason|source|policy|protocol|encryption|entryPoint|\w+(Status|Kind|Unit|Policy|Alignment))$/;

/** Plugins extend the set, a uid is part of the word, or it is a sentence. */
const OPEN: Readonly<Record<string, string>> = {
  'SendingServer.type': 'drivers of plugins',
  'SendingServerType.type': 'drivers of plugins',
  'DroppedMails.kind': 'names of jobs',
  'ConsentEvent.source': '`import:<uid>`',
  'Subscriber.source': '`import:<uid>`',
  'Delivery.reason': 'a sentence',
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

test.each(types.filter((type) => isEnumType(type)).map((type) => [type.name, type] as const))(
  '%s says what it and each of its values means',
  (_name, type) => {
    const mute = type.getValues().filter(({ description }) => !description);
    expect([type.description, mute.map(({ name }) => name)]).toEqual([expect.any(String), []]);
  },
);
