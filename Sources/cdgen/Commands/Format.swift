import ArgumentParser
import CDConsole
import CDModel
import CDSchema

/// `cdgen format`
struct Format: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Format the files of models.",
    discussion: """
      Puts the keys of each declaration into a fixed order, removes white space at the ends of lines, and reduces several \
      blank lines to one. Comments stay with the lines that follow them. Entities, attributes and relationships keep \
      their order. Mappings in braces stay as they are. Formatting never changes the meaning of a model. A model with \
      errors is not formatted.

        cdgen format Schemas/ToDo.cdmodel
        cdgen format Schemas/*.cdmodel --check

      The command prints the files that it has changed. With --check, it changes nothing, prints the files that it \
      would change, and fails if there are any.
      """)

  @Argument(help: "The folders of the models.", completion: .directory)
  var model: [String]

  @Flag(help: "Change nothing. Fail if a file is not formatted.")
  var check = false

  func run() throws {
    try reportingFailures {
      var isFormatted = true
      for path in model {
        let hasChanges = try check ? format(path) : ModelFolder.whileLocked(path) { try format(path) }
        if hasChanges { isFormatted = false }
      }
      if check, !isFormatted { throw ExitCode.failure }
    }
  }

  /// Formats the files of a model, or with --check only prints them.
  ///
  /// - Returns: Whether there is a file that is not formatted.
  private func format(_ path: String) throws -> Bool {
    let loaded = ModelLoader.load(folder: path)
    guard let before = loaded.unprovenModel else {
      ModelFolder.report(loaded.diagnostics)
      throw ExitCode.failure
    }
    let files = Self.changedFiles(of: loaded)
    try Self.verify(files, loaded, before)
    for file in files {
      if !check { try Self.write(file, loaded) }
      try Console.write(line: file.path)
    }
    return !files.isEmpty
  }

  /// Writes a formatted file, unless an editor has changed the file since it was read.
  private static func write(_ file: OutputFile, _ loaded: LoadedModel) throws {
    if let read = loaded.files.first(where: { $0.path == file.path }) {
      let original = OutputFile(path: file.path, contents: String(decoding: read.bytes, as: UTF8.self))
      guard try original.isUpToDate() else {
        throw Failure(file.path, "the file has changed meanwhile and is not formatted; run the command again")
      }
    }
    try file.write()
  }

  private static func changedFiles(of loaded: LoadedModel) -> [OutputFile] {
    loaded.files.compactMap { file in
      guard let text = ModelFormatter.text(of: file), !text.utf8.elementsEqual(file.bytes) else { return nil }
      return OutputFile(path: file.path, contents: text)
    }
  }

  /// Loads the formatted files in memory, so that no other model is written.
  private static func verify(
    _ changed: [OutputFile], _ loaded: LoadedModel, _ before: ManagedObjectModel
  ) throws {
    func keepsModel(_ changed: [OutputFile]) -> Bool {
      var files: [String: [UInt8]] = [:]
      for file in loaded.files { files[file.name] = file.bytes }
      for file in changed {
        guard let name = loaded.files.first(where: { $0.path == file.path })?.name else { continue }
        files[name] = Array(file.contents.utf8)
      }
      let after = ModelLoader.load(name: before.name, files: files)
      return after.unprovenModel?.canonicalJSON == before.canonicalJSON && after.access == loaded.access
    }
    if keepsModel(changed) { return }
    throw Failure(
      (changed.first { !keepsModel([$0]) } ?? changed.first)?.path,
      "this file cannot be formatted automatically in its present form; it was not changed")
  }
}
