/**
 * The words of closed sets (statuses, types, units), which are enums of the schema. GraphQL refuses an operation with an unknown word before
 * it looks at anything else, so a caller would be told of that word alone. A call therefore compares the words of its variables with the
 * schema's, in this place for all rows, and has the other values checked with a right word in its place.
 */
import {
  isEnumType,
  isInputObjectType,
  isNonNullType,
  type GraphQLEnumType,
  type GraphQLInputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  typeFromAST,
  isInputType,
} from 'graphql';
import { fieldLabel, requiredSentence } from '../lib/text.ts';
import { eventName } from './webhooks/present.ts';

type Values = Readonly<Record<string, unknown>>;

interface ComparedWords {
  /** The variables without unknown words. */
  readonly right: Values;
  /** A sentence for each unknown word, by the caller's name of its field. */
  readonly wrong: ReadonlyMap<string, string>;
}

/** The types of an operation's variables. */
export type VariableTypes = ReadonlyMap<string, GraphQLInputType>;

export function variableTypesOf(operation: OperationDefinitionNode, schema: GraphQLSchema): VariableTypes {
  return new Map(
    (operation.variableDefinitions ?? []).flatMap(({ variable, type }) => {
      const found = typeFromAST(schema, type);
      return isInputType(found) ? [[variable.name.value, found] as const] : [];
    }),
  );
}

/** Compares the words of these variables, also those in nested objects. `nameOf` gives the caller's name of a path from the variable. */
export function compareWords(types: VariableTypes, variables: Values, nameOf: (path: string) => string): ComparedWords {
  const wrong = new Map<string, string>();
  const compared = Object.entries(variables).map(([name, value]) => {
    const type = types.get(name);
    return [name, type ? comparedValue({ type, path: name, wrong, nameOf }, value) : value] as const;
  });
  return { right: Object.fromEntries(compared), wrong };
}

interface Place {
  readonly type: GraphQLInputType;
  readonly path: string;
  readonly wrong: Map<string, string>;
  readonly nameOf: (path: string) => string;
}

function comparedValue({ type, path, wrong, nameOf }: Place, value: unknown): unknown {
  const isNeeded = isNonNullType(type);
  const inner = isNeeded ? type.ofType : type;
  if (isEnumType(inner)) {
    if (typeof value !== 'string' || inner.getValue(value)) return value;
    const name = nameOf(path);
    wrong.set(name, sentenceOf(inner, name, value));
    return STAND_INS[inner.name] ?? (isNeeded ? inner.getValues()[0]?.name : undefined);
  }
  if (!isInputObjectType(inner) || typeof value !== 'object' || value === null) return value;
  const fields = inner.getFields();
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const field = fields[name];
      return [
        name,
        field ? comparedValue({ type: field.type, path: `${path}.${name}`, wrong, nameOf }, one) : one,
      ] as const;
    }),
  );
}

/** Words with which every other value is right that is right with any word of their enum. Others are left out. */
const STAND_INS: Readonly<Record<string, string>> = {
  FrequencyUnit: 'day',
  QuotaUnit: 'second',
  ListFieldType: 'text',
  WebhookEvent: 'click',
};

/** As the domain says it of its own words. */
function sentenceOf(type: GraphQLEnumType, path: string, given: string): string {
  const name = path.split('.').at(-1) ?? path;
  return given === '' ? requiredSentence(name) : oneOfTheWords(type, fieldLabel(name));
}

/** The sentence about a word that is none of these. */
export function oneOfTheWords(type: GraphQLEnumType, label: string): string {
  const words = type.getValues().map(({ name }) => (type.name === 'WebhookEvent' ? eventName(name) : name));
  return `The ${label} must be one of: ${words.join(', ')}.`;
}
