import ArgumentParser
import CDConsole
import CDModel
import CDSchema

/// `cdgen lock`
struct Lock: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lock a released version, so that it never changes again.",
    discussion: """
      Adds the version to the model's versions.lock, with the hashes of its elements. From then on, a change of the \
      version's file is an error that names the changed element. A migration step from the version to the current \
      one that lacks a rule is an error too. The command locks nothing if a step is not proven.

      Run the command when you release a version, and commit versions.lock. If you have locked a version by mistake \
      and have not released it yet, remove its block from the file.

        cdgen lock Schemas/ToDo.cdmodel
        cdgen lock Schemas/ToDo.cdmodel --version 1 --version 2
      """)

  @Argument(help: "The folder of the model.", completion: .directory)
  var model: String

  @Option(help: ArgumentHelp("A version to lock. The default is the current version.", valueName: "number"))
  var version: [Int] = []

  @Flag(help: "Lock all versions up to the current one.")
  var all = false

  /// The number of versions from which the command asks which of them users still have.
  private static let longHistory = 15

  func validate() throws {
    if all, !version.isEmpty { throw ValidationError("Either --all or --version.") }
  }

  func run() throws {
    try reportingFailures { try ModelFolder.whileLocked(model) { try lock() } }
  }

  private func lock() throws {
    let (loaded, model) = try ModelFolder.load(self.model, showsWarnings: false)
    let folder = ModelFolder.trimmed(self.model)
    let locked = Set(loaded.lockedVersions.map(\.number))
    var new: [ModelVersion] = []
    let numbers = Set(try self.numbers(of: model)).sorted()
    for number in numbers {
      guard let version = model.version(number) else {
        throw Failure(folder, unknownVersion: number, of: model)
      }
      if !locked.contains(number) { new.append(version) }
    }
    try Self.verify(loaded.lockedVersions, model, folder)
    guard !new.isEmpty else {
      let known = numbers.map { "version \($0)" }.joined(separator: ", ")
      return try Console.write(line: "\(folder): \(known): already locked")
    }
    if all, new.count >= Self.longHistory {
      try Console.write(
        line:
          "\(folder): \(new.count) versions at once. Stores of a locked version must stay migratable forever; "
          + "versions that no "
          + "user has any more need not be kept. To omit versions, import Xcode's model again with an --order file "
          + "that lacks them, or lock the others with --version.")
    }
    let text = LockText.text(of: loaded.lockedVersions + new.map { LockedVersion($0) })
    try Self.prove(text, loaded, folder)
    try OutputFile(path: FileSystem.join(folder, LockText.fileName), contents: text).write()
    for version in new { try Console.write(line: "\(folder): locked version \(version.number)") }
  }

  private func numbers(of model: ManagedObjectModel) throws -> [Int] {
    if all { return model.versions.map(\.number).filter { $0 <= model.currentVersionNumber } }
    return version.isEmpty ? [model.currentVersionNumber] : version
  }

  /// Verifies all hashes of the locked versions. Builds verify only the definition hashes.
  private static func verify(
    _ locked: [LockedVersion], _ model: ManagedObjectModel, _ folder: String
  ) throws {
    for each in locked {
      guard let version = model.version(each.number), LockedVersion(version) != each else { continue }
      throw Failure(
        FileSystem.join(folder, LockText.fileName),
        "the block of version \(each.number) is damaged, although the version itself is unchanged; "
          + "restore the file from version control")
    }
  }

  /// Loads the model with the new lock in memory, because a warning may become an error with it.
  private static func prove(_ text: String, _ loaded: LoadedModel, _ folder: String) throws {
    var files: [String: [UInt8]] = [:]
    for file in loaded.files { files[file.name] = file.bytes }
    files[LockText.fileName] = Array(text.utf8)
    let result = ModelLoader.load(name: loaded.model?.name ?? "", files: files, folder: folder)
    guard result.hasErrors else { return }
    ModelFolder.report(result.diagnostics.filter { $0.severity == .error })
    throw Failure(
      folder, "nothing was locked: migration steps must lead from a locked version to the current one")
  }
}
