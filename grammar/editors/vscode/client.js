// Starts `shard lsp` for texts of Shard. All that it knows of the language it asks there.
const { workspace } = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration('shard');
  const server = { command: settings.get('path'), args: ['lsp', ...settings.get('arguments')] };
  client = new LanguageClient('shard', 'Shard', server, { documentSelector: [{ language: 'shard' }] });
  return client.start();
};

exports.deactivate = () => client && client.stop();
