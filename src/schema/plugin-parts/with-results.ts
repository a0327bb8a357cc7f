/**
 * Root fields of plugins answer like those of the product: a union of the value and the expected errors. Lists become an object with
 * `nodes`, scalars and abstract types one with `data`. The field itself is null when the plugin has failed.
 */
import {
  Kind,
  OperationTypeNode,
  type FieldDefinitionNode,
  type NamedTypeNode,
  type ObjectTypeDefinitionNode,
  type ObjectTypeExtensionNode,
  type TypeDefinitionNode,
  type TypeNode,
  type UnionTypeDefinitionNode,
} from 'graphql';
import { rightOf } from '../access.ts';
import { ERROR_TYPE_NAMES } from './error-value.ts';
import type { ParsedPart } from './parse-part.ts';

type Definition = TypeDefinitionNode | ObjectTypeExtensionNode;

/** Where the value of a root field is in its result. */
export interface ResultForm {
  readonly union: string;
  readonly member: string;
  /** Absent: the member is the value itself. */
  readonly property?: 'nodes' | 'data';
  readonly isNullable: boolean;
}

/** The definitions with the unions, and the form of each result by the name of its field. */
export function withResults({ definitions, given }: ParsedPart): {
  readonly definitions: readonly Definition[];
  readonly forms: ReadonlyMap<string, ResultForm>;
} {
  const forms = new Map<string, ResultForm>();
  const made: Definition[] = [];
  const objects = new Set(
    definitions.flatMap(({ kind, name }) => (kind === Kind.OBJECT_TYPE_DEFINITION ? [name.value] : [])),
  );
  for (const definition of definitions) {
    const type = definition.name.value;
    if (definition.kind !== Kind.OBJECT_TYPE_EXTENSION || !(type in OPERATIONS)) {
      made.push(definition);
      continue;
    }
    const fields = (definition.fields ?? []).map((field) => {
      const shown = described(field, rightOf(given.access[field.name.value]));
      if (type === 'Subscription') return shown;
      const { form, added } = resultOf(field, objects);
      forms.set(field.name.value, form);
      made.push(...added);
      return { ...shown, type: named(form.union) };
    });
    made.push({ ...definition, fields });
  }
  return { definitions: made, forms };
}

const OPERATIONS = {
  Query: OperationTypeNode.QUERY,
  Mutation: OperationTypeNode.MUTATION,
  Subscription: OperationTypeNode.SUBSCRIPTION,
};

function resultOf(field: FieldDefinitionNode, objects: ReadonlySet<string>) {
  const name = field.name.value.charAt(0).toUpperCase() + field.name.value.slice(1);
  const isNullable = field.type.kind !== Kind.NON_NULL_TYPE;
  const type = field.type.kind === Kind.NON_NULL_TYPE ? field.type.type : field.type;
  const isMember = type.kind === Kind.NAMED_TYPE && objects.has(type.name.value);
  const property = type.kind === Kind.LIST_TYPE ? 'nodes' : 'data';
  const member = isMember ? type.name.value : `${name}Success`;
  const union = `${name}Result`;
  const added: Definition[] = [unionOf(union, member)];
  if (!isMember) added.push(successOf(member, property, field.type));
  const form: ResultForm = { union, member, isNullable, ...(isMember ? {} : { property }) };
  return { form, added };
}

function unionOf(name: string, member: string): UnionTypeDefinitionNode {
  const types = [member, ...ERROR_TYPE_NAMES].map(named);
  return { kind: Kind.UNION_TYPE_DEFINITION, name: { kind: Kind.NAME, value: name }, types };
}

function successOf(name: string, property: string, type: TypeNode): ObjectTypeDefinitionNode {
  const field: FieldDefinitionNode = {
    ...{ kind: Kind.FIELD_DEFINITION, name: { kind: Kind.NAME, value: property }, type },
  };
  return { kind: Kind.OBJECT_TYPE_DEFINITION, name: { kind: Kind.NAME, value: name }, fields: [field] };
}

function described(field: FieldDefinitionNode, right: string): FieldDefinitionNode {
  const value = `${field.description?.value ?? ''} Needs ${right}.`.trim();
  return { ...field, description: { kind: Kind.STRING, value } };
}

function named(name: string): NamedTypeNode {
  return { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: name } };
}
