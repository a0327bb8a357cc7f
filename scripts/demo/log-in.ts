/** The identity of a console program: the given token, or a login on the terminal. */
import { stdin, stdout } from 'node:process';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { z } from 'zod';
import { connect } from './client.ts';
import { DemoError } from './demo-error.ts';

const LOG_IN = `mutation DemoLogIn($email: String!, $password: String!) {
  logIn(input: { email: $email, password: $password }) {
    __typename
    ... on LoggedIn { token }
    ... on Error { message }
  }
}`;
const loggedIn = z.object({ logIn: z.object({ token: z.string() }) });

/** Asks for email and password and returns a new token. Throws DemoError, with `advice`, when there is no terminal. */
export async function promptForToken(url: string, advice = ''): Promise<string> {
  if (!stdin.isTTY)
    throw new DemoError(`Mailwright runs at ${url}. Log in: set MAILWRIGHT_TOKEN to an API token${advice}`);
  console.log(`Mailwright runs at ${url}. Please log in; the password was printed by its first start.`);
  const email = await prompt('  Email [admin@example.com]: ', false);
  const password = await prompt('  Password: ', true);
  const { logIn } = await connect(url).run(LOG_IN, { email: email || 'admin@example.com', password }, loggedIn);
  return logIn.token;
}

async function prompt(question: string, isSecret: boolean): Promise<string> {
  // A terminal echoes through readline: characters after the question are not passed on.
  let isHidden = false;
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isHidden) stdout.write(chunk);
      done();
    },
  });
  const line = createInterface({ input: stdin, output, terminal: true });
  try {
    const answer = line.question(question);
    isHidden = isSecret;
    return (await answer).trim();
  } finally {
    line.close();
    if (isSecret) stdout.write('\n');
  }
}
