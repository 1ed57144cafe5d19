import CDGenerator
import CDSchema

extension LoadedModel {
  /// The options of generated code that `model.yaml` contains.
  ///
  /// - Parameter access: The access level that the command line names, in place of that of `model.yaml`.
  func generatorOptions(access: AccessLevel? = nil, perEntity: Bool = false) -> Generator.Options {
    Generator.Options(
      access: access ?? self.access.flatMap(AccessLevel.init) ?? .internal, perEntity: perEntity,
      warnsOfUnlockedVersion: !locksCurrentVersion, keyPaths: listsKeyPaths, observable: isObservable,
      snapshots: hasSnapshots, nestedSnapshots: nestsSnapshots)
  }
}
