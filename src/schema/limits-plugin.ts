/**
 * Every input says its limits in its description. They are read from the check of the domain: an input type names the checks of
 * its fields (`checks`), a field or an argument its own (`check`). So a limit is written once. Uids are recognised by their name.
 */
import SchemaBuilder, {
  BasePlugin,
  type FieldRequiredness,
  type InputFieldMap,
  type InputType,
  type PothosInputFieldConfig,
  type SchemaTypes,
} from '@pothos/core';
import type { z } from 'zod';
import { UID_LENGTH } from '../lib/ids.ts';
import { limitsOf } from '../lib/limits-of.ts';

declare global {
  // Pothos knows plugins and their options by declaration merging; the parameters repeat those of its own types.
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      limits: LimitsPlugin<Types>;
    }
    interface InputObjectTypeOptions<Types extends SchemaTypes, Fields extends InputFieldMap> {
      /** The checks of its fields, by name. This only says them: the verb checks. */
      checks?: Readonly<Record<string, z.ZodType>>;
    }
    interface InputFieldOptions<
      Types extends SchemaTypes,
      Type extends InputType<Types> | [InputType<Types>],
      Req extends FieldRequiredness<Type>,
    > {
      /** The check of this value, where its type names none. */
      check?: z.ZodType;
    }
  }
}

const UID = `${UID_LENGTH} characters, 0-9 and a-f.`;

class LimitsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onInputFieldConfig(config: PothosInputFieldConfig<Types>): PothosInputFieldConfig<Types> {
    const limits = this.#limitsOf(config);
    if (limits === undefined) return config;
    return {
      ...config,
      description: config.description ? `${config.description} ${limits}` : limits,
      extensions: { ...config.extensions, limits },
    };
  }

  #limitsOf({ name, kind, type, parentType, pothosOptions }: PothosInputFieldConfig<Types>): string | undefined {
    if (pothosOptions.check) return limitsOf(pothosOptions.check);
    if (/^uid$|Uid$/.test(name)) return UID;
    // Of an enum the schema shows every word.
    if (kind === 'Arg' || type.kind === 'Enum') return undefined;
    const { checks } = this.builder.configStore.getTypeConfig(parentType, 'InputObject').pothosOptions;
    return checks?.[name] && limitsOf(checks[name]);
  }
}

export const limitsPlugin = 'limits';
SchemaBuilder.registerPlugin(limitsPlugin, LimitsPlugin);
