/// Writes the files of a model.
struct FileEmitter {
  let declarations: ModelDeclaration
  let access: AccessLevel
  /// The current version's number if release builds must warn that it is not locked; otherwise nil.
  let unlockedVersion: Int?
  /// Whether types list their key paths.
  let listsKeyPaths: Bool
  /// Whether classes are observable.
  let isObservable: Bool
  /// Whether classes have snapshots.
  let hasSnapshots: Bool

  /// Writes everything into `NAME+Generated.swift`.
  func singleFile() -> GeneratedFile {
    var emitter = emitter(capacity: 1024 + declarations.classes.count * 10_000)
    header(&emitter, classes: declarations.classes, includesTypes: true)
    types(&emitter)
    for each in declarations.classes { emitter.class(each) }
    emitter.model(declarations)
    if let migrations = declarations.migrations { emitter.migrations(migrations) }
    warning(&emitter)
    return GeneratedFile(name: declarations.name + "+Generated.swift", contents: emitter.out.text)
  }

  /// Writes one file for each class, and `NAMEModel+Generated.swift` for the rest.
  func filePerEntity() -> [GeneratedFile] {
    var rest = emitter(capacity: 1024)
    header(&rest, classes: [], includesTypes: true)
    types(&rest)
    rest.model(declarations)
    if let migrations = declarations.migrations { rest.migrations(migrations) }
    warning(&rest)
    let model = GeneratedFile(name: declarations.typeName + "+Generated.swift", contents: rest.out.text)
    // Many file systems take names that differ only in case for one.
    var taken: Set<String> = [model.name.lowercased()]
    return [model]
      + declarations.classes.map { each in
        var emitter = emitter(capacity: 10_000)
        header(&emitter, classes: [each], includesTypes: false)
        emitter.class(each)
        var name = each.plainName
        while !taken.insert("\(name)+Generated.swift".lowercased()).inserted { name += "_" }
        return GeneratedFile(name: name + "+Generated.swift", contents: emitter.out.text)
      }
  }

  private func emitter(capacity: Int) -> Emitter {
    Emitter(
      access, listsKeyPaths: listsKeyPaths, isObservable: isObservable,
      hasSnapshots: hasSnapshots, capacity: capacity)
  }

  private func warning(_ emitter: inout Emitter) {
    guard let unlockedVersion else { return }
    emitter.unlockedVersionWarning(model: declarations.name, version: unlockedVersion)
  }

  private func types(_ emitter: inout Emitter) {
    for each in declarations.enums { emitter.enumeration(each) }
    for each in declarations.composites { emitter.composite(each) }
  }

  private func header(_ emitter: inout Emitter, classes: [ClassDeclaration], includesTypes: Bool) {
    let composites = includesTypes ? declarations.composites : []
    emitter.header(
      model: declarations.name,
      imports: ImportList(
        declarations, classes: classes, composites: composites,
        migrations: includesTypes ? declarations.migrations : nil),
      aliases: declarations.aliases)
  }
}
