/** Reads the environment into one frozen typed object. All faults are named at once. */
import { readSetting } from '../lib/setting-kind.ts';
import { movedToDatabase, settings, type SettingName, type Settings } from './settings.ts';

export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(
      `The settings have ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/** Reads all settings from the environment given. Throws `ConfigError` with every fault. */
export function loadConfig(environment: Readonly<Record<string, string | undefined>>): Settings {
  const faults = movedSettings(environment);
  const entries = Object.entries(settings).map(([name, setting]) => {
    const text = environment[name]?.trim() || setting.default;
    const result = readSetting<unknown>(setting.kind, text);
    if ('value' in result) return [name, result.value];
    // A password or token in a fault would end up in a log.
    const subject = isSecret(name) ? `The value of ${name} is not shown here` : `${name} is ${JSON.stringify(text)}`;
    faults.push(`${subject}; ${result.fault}.`);
    return [name, undefined];
  });
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze(Object.fromEntries(entries));
}

function movedSettings(environment: Readonly<Record<string, string | undefined>>): string[] {
  return movedToDatabase.flatMap((variable) =>
    environment[variable]?.trim()
      ? `${variable} is no longer a setting of the environment. Remove it; an administrator sets ${variable.toLowerCase()} with PATCH /api/v1/settings or in GraphQL with updateInstallationSettings.`
      : [],
  );
}

function isSecret(name: string): boolean {
  const secrets: readonly SettingName[] = [
    'ADMIN_PASSWORD',
    'ADMIN_API_TOKEN',
    'APP_SECRET',
    'DATABASE_URL',
    'METRICS_TOKEN',
  ];
  return secrets.some((secret) => secret === name);
}
