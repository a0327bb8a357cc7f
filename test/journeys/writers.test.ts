/** Many writers of the same people at once, over HTTP: no answer says that something went wrong, and the counters are right. */
import { expect, it } from 'vitest';
import { startProduct } from '../../bench/support/product.ts';
import { newList } from '../../bench/support/rest-import.ts';
import { seededRandom } from '../chaos/random.ts';
import { countersAndRows, faultsIn, playWriters } from '../chaos/writers.ts';
import { afterFile } from '../support/after-file.ts';
import { createTestDatabase } from '../support/test-database.ts';

const ROUNDS = 500;

it('writers of one list disturb nobody, and leave the counters equal to the rows', async () => {
  const { url } = await createTestDatabase();
  const product = await startProduct(url, { LOG_LEVEL: 'error' });
  afterFile(() => product.kill());
  let rounds = 0;
  const answers = await playWriters({
    product,
    listUid: await newList(product),
    people: 60,
    random: seededRandom(1),
    isOver: () => (rounds += 1) > ROUNDS,
  });
  const written = [
    'address 200',
    'subscribe 200',
    'unsubscribe 200',
    'tag 200',
    'delete 200',
    'erase 200',
    'import 200',
  ];
  expect([...answers.keys()]).toEqual(expect.arrayContaining(written));
  expect(faultsIn(answers)).toEqual([]);
  const [counters, rows] = await countersAndRows(url);
  expect(counters).toEqual(rows);
});
