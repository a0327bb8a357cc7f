/** A plugin's own tables, by its own login. The connection is opened by the first statement and closed when the plugin is not live. */
import { pluginLogin } from '../domain/plugins/plugin-login.ts';
import { LoginConnection, type RunStatement } from '../db/login-connection.ts';
import { messageOf } from '../lib/errors.ts';
import type { PluginDatabase, Statements } from '../plugin-api/index.ts';
import type { ServiceOwner } from './service-owner.ts';

export function pluginDatabase({ plugin, key, rights, use, onEnd }: ServiceOwner): PluginDatabase {
  const connection = new LoginConnection(async () => {
    const { database, installation } = use();
    const name = decodeURIComponent(new URL(database.url).pathname.slice(1));
    const login = pluginLogin({ database: name, secret: installation.secret }, key);
    return { ...login, url: database.url, applicationName: `mailwright-plugin ${plugin}` };
  });
  onEnd(() => connection.close());
  const run = async <T>(work: (run: RunStatement) => Promise<T>): Promise<T> => {
    use();
    if (!rights.tables)
      throw new Error(`The plugin "${plugin}" has no tables: its manifest does not say "tables": true.`);
    return connection.use(work).catch((error: unknown) => {
      throw inWords(error, plugin);
    });
  };
  const statements = (runStatement: RunStatement): Statements => ({
    query: (text, values) => runStatement(text, values),
  });
  return {
    query: (text, values) => run((runStatement) => runStatement(text, values)),
    transaction: (work) =>
      run(async (runStatement) => {
        await runStatement('BEGIN');
        const result = await work(statements(runStatement));
        await runStatement('COMMIT');
        return result;
      }),
  };
}

/** SQLSTATEs of a login that is not there. */
const NO_LOGIN = new Set(['28P01', '28000']);

function inWords(error: unknown, plugin: string): unknown {
  if (!(error instanceof Error && 'code' in error && NO_LOGIN.has(String(error.code)))) return error;
  return new Error(
    `The plugin "${plugin}" has no login for the database (${messageOf(error)}). Activate it again; the log says if the user of DATABASE_URL may not make roles.`,
    { cause: error },
  );
}
