/** The settings that both drivers for Amazon SES have, and the regions. */
import { z } from 'zod';
import { optionalLine, requiredLine } from '../../../src/plugin-api/index.ts';

/** In errors. */
export const SES = 'Amazon SES';

/** Those where SES takes SMTP (AWS General Reference); another one is reached by `host`. */
export const SMTP_REGIONS = [
  ...['us-east-1', 'us-east-2', 'us-west-1', 'us-west-2', 'ca-central-1', 'ca-west-1', 'sa-east-1'],
  ...['eu-central-1', 'eu-central-2', 'eu-north-1', 'eu-south-1', 'eu-west-1', 'eu-west-2', 'eu-west-3'],
  ...['ap-northeast-1', 'ap-northeast-2', 'ap-northeast-3', 'ap-south-1', 'ap-south-2'],
  ...['ap-southeast-1', 'ap-southeast-2', 'ap-southeast-3', 'ap-southeast-5'],
  ...['af-south-1', 'il-central-1', 'me-central-1', 'me-south-1', 'us-gov-east-1', 'us-gov-west-1'],
] as const;

const REGION = /^[a-z]{2}(?:-[a-z]{1,20}){1,3}-\d{1,2}$/;
const CONFIGURATION_SET = /^[\w-]{1,64}$/;
/** Topics of the form `.fifo` deliver to no web address. */
const TOPIC = /^arn:(aws|aws-cn|aws-us-gov):sns:([a-z0-9-]{1,40}):\d{12}:[\w-]{1,256}$/;

export const TOPIC_SETTING = 'sns_topic_arn';
/** By this name events return our own id. */
export const TAG = 'mailwright_id';

export const regionField = requiredLine('region').pipe(
  z.string().regex(REGION, { error: 'The region must be one of AWS, such as eu-west-1.' }),
);

export const reportFields = {
  configuration_set: optionalLine('configuration set').pipe(
    z
      .string()
      .regex(CONFIGURATION_SET, {
        error: 'The name of the configuration set has letters, digits, hyphens and underscores only.',
      })
      .optional(),
  ),
  [TOPIC_SETTING]: optionalLine('SNS topic').pipe(
    z
      .string()
      .regex(TOPIC, {
        error:
          'The SNS topic must be an ARN of a standard topic, such as arn:aws:sns:eu-west-1:123456789012:mailwright.',
      })
      .optional(),
  ),
};

/** The host of SNS that has the topic; undefined: it is no topic. */
export function topicHost(arn: unknown): string | undefined {
  const [, partition, region] = (typeof arn === 'string' && TOPIC.exec(arn)) || [];
  if (region === undefined) return undefined;
  return `sns.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`;
}

/** Tags have no dots. */
export function tagOf(idempotencyKey: string): string {
  return idempotencyKey.replaceAll('.', '-');
}
