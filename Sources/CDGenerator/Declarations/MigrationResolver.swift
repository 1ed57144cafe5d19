import CDMapping
import CDModel
import CDTooling

/// Finds the migrations that need the app's own code and creates their declarations.
struct MigrationResolver {
  let model: ManagedObjectModel
  let modelTypeName: String
  private(set) var problems: [GenerationProblem] = []

  init(_ model: ManagedObjectModel) {
    self.model = model
    modelTypeName = ManagedObjectModel.typeName(ofModel: model.name)
  }

  /// Returns the declarations; nil if no step on the path of a store has a custom mapping.
  mutating func declaration() -> MigrationDeclaration? {
    let steps = customSteps()
    guard !steps.isEmpty else { return nil }
    var names: Set<FunctionKey> = []
    let named = steps.map { step in (step, mappings(of: step, &names)) }
    let numbers = Set(steps.flatMap { [$0.source, $0.destination] }).sorted()
    let versions = numbers.compactMap { number in
      model.version(number).map { declaration(of: $0, named) }
    }
    return MigrationDeclaration(
      modelTypeName: modelTypeName, versions: versions,
      steps: named.map { step, mappings in
        StepDeclaration(
          source: step.source, destination: step.destination, mappings: mappings.map(\.declaration),
          step: step)
      })
  }

  /// The steps with custom mappings on the paths of all versions to the current one.
  private func customSteps() -> [MigrationStep] {
    let custom = model.mappings.filter { $0.entities.contains(where: \.isCustom) }
    guard !custom.isEmpty else { return [] }
    let paths = VersionPaths(model)
    var pairs: Set<[Int]> = []
    for version in model.versions {
      guard let path = paths.path(from: version.number, to: model.currentVersionNumber) else { continue }
      for (source, destination) in zip(path, path.dropFirst()) { pairs.insert([source, destination]) }
    }
    return custom.sorted { ($0.source, $0.destination) < ($1.source, $1.destination) }
      .filter { pairs.contains([$0.source, $0.destination]) }
      .compactMap { paths.step(from: $0.source, to: $0.destination) }
  }

  // MARK: Mappings

  /// Identifies a requirement. Two Swift functions cannot have the same values here.
  private struct FunctionKey: Hashable {
    let name: String
    let sourceVersion: Int
    let source: String?
    let destinationVersion: Int
  }

  /// A custom mapping with the names of its entities.
  struct Named {
    let declaration: CustomMappingDeclaration
    let source: String?
    let destination: String
  }

  private func mappings(of step: MigrationStep, _ names: inout Set<FunctionKey>) -> [Named] {
    guard let old = model.version(step.source), let new = model.version(step.destination) else { return [] }
    let (oldGraph, newGraph) = (EntityGraph(old), EntityGraph(new))
    let newViews = views(of: newGraph, isNew: true)
    let oldViews = views(of: oldGraph, isNew: false)
    let custom = step.mapping.entityMappings.filter { $0.kind == .custom }
    return custom.compactMap { mapping in
      guard let destination = mapping.destination, let entity = newGraph.entity(destination) else {
        return nil
      }
      let isAmbiguous =
        custom.count { $0.source == mapping.source && $0.destination == mapping.destination } > 1
      var stem = Self.functionStem(of: mapping, entity)
      func key() -> FunctionKey {
        FunctionKey(
          name: stem, sourceVersion: step.source, source: mapping.source, destinationVersion: step.destination
        )
      }
      while !names.insert(key()).inserted { stem += "_" }
      let suffix = mapping.source == nil ? "InStep\(step.source)To\(step.destination)" : ""
      let label = isAmbiguous ? "from" + SwiftName.capitalized(mapping.name) : "from"
      let unknown = newViews.unknown(of: mapping)
      let declaration = CustomMappingDeclaration(
        mapping: mapping, name: SwiftLiteral.string(mapping.name), make: "make" + stem + suffix,
        relate: mapping.source == nil ? nil : "relate" + stem,
        sourceType: mapping.source.flatMap(oldViews.typeName),
        destinationType: newViews.typeName(destination) ?? "",
        unknown: unknown, originLabel: label, doc: doc(of: mapping, step, unknown))
      return Named(declaration: declaration, source: mapping.source, destination: destination)
    }
  }

  /// The function's name after `make`: the destination's name, or the mapping's name if a rule sets it.
  private static func functionStem(of mapping: EntityMapping, _ destination: EntityDescription) -> String {
    let usual = [mapping.source.map { "\($0)To\(destination.name)" }, "Add\(destination.name)"]
    return SwiftName.capitalized(usual.contains(mapping.name) ? destination.swiftName : mapping.name)
  }

  private func doc(
    of mapping: EntityMapping, _ step: MigrationStep, _ unknown: [ViewDeclaration.Parameter]
  ) -> String {
    var lines: [String] = []
    if let source = mapping.source {
      let condition = mapping.filter.map { " with `\($0.canonicalText)`" } ?? ""
      lines.append(
        "Creates the object of version \(step.destination) for an object of `\(source)` of version \(step.source)"
          + "\(condition). Returns nil to leave it out.")
    } else {
      lines.append(
        "Creates the objects of `\(mapping.destination ?? "")` of version \(step.destination), which have no source "
          + "objects. Called before all other objects are created.")
    }
    guard mapping.source != nil else { return lines.joined(separator: "\n") }
    let known = KnownValues(mapping)
    lines.append("")
    if !known.kept.isEmpty {
      lines.append("- Kept as they are: \(known.kept.map { "`\($0)`" }.joined(separator: ", ")).")
    }
    for each in known.calculated { lines.append("- By rules and inference: `\(each)`.") }
    if !unknown.isEmpty {
      lines.append("- Only the app knows: \(unknown.map { "`\($0.name)`" }.joined(separator: ", ")).")
    }
    return lines.joined(separator: "\n")
  }

  // MARK: Versions

  private mutating func declaration(
    of version: ModelVersion, _ steps: [(step: MigrationStep, mappings: [Named])]
  ) -> VersionDeclaration {
    let graph = EntityGraph(version)
    let read = steps.filter { $0.step.source == version.number }.flatMap { $0.mappings.compactMap(\.source) }
    let written = steps.filter { $0.step.destination == version.number }
    let readEntities = Self.reachable(from: read, in: graph)
    let writtenEntities = Self.reachable(from: written.flatMap { $0.mappings.map(\.destination) }, in: graph)
    let old = views(of: graph, isNew: false)
    let new = views(of: graph, isNew: true)
    let entities = version.entities.map(\.name)
    let types = usedTypes(of: readEntities.union(writtenEntities), graph)
    var resolver = Resolver(
      ModelVersion(
        number: version.number, enums: version.enums.filter { types.contains($0.name) },
        composites: version.composites.filter { types.contains($0.name) }),
      modelName: model.name, imports: [], namespace: old.namespace)
    let (enums, composites) = (resolver.enums(), resolver.composites())
    for name in entities where readEntities.contains(name) || writtenEntities.contains(name) {
      Self.checkProperties(of: name, in: graph, &resolver)
    }
    for composite in version.composites where types.contains(composite.name) {
      for field in composite.fields where field.swiftName == modelTypeName {
        resolver.report(.reservedName(modelTypeName), type: composite.name, member: field.name)
      }
    }
    problems += resolver.problems
    return VersionDeclaration(
      number: version.number, enums: enums, composites: composites,
      snapshots: entities.filter(readEntities.contains).compactMap(old.snapshot),
      created: entities.filter(writtenEntities.contains).compactMap { name in
        let origins = written.flatMap { $0.mappings }.filter { $0.destination == name }.map(\.declaration)
        return new.created(name, by: origins)
      })
  }

  /// Reports a property that would hide the model's type in the view of an entity. The view needs this type to name
  /// enumerations, which are nested in it.
  private static func checkProperties(of entity: String, in graph: EntityGraph, _ resolver: inout Resolver) {
    let namesEnumerations = graph.attributes(of: entity).contains {
      if case .enumeration = $0.type { $0.isStored } else { false }
    }
    guard namesEnumerations else { return }
    let name = resolver.modelTypeName
    for slot in graph.slots(of: entity) where slot.property.swiftName == name {
      if case .attribute(let attribute) = slot.property, !attribute.isStored { continue }
      resolver.report(.reservedName(name), type: entity, member: slot.property.name)
    }
  }

  private func views(of graph: EntityGraph, isNew: Bool) -> ViewResolver {
    ViewResolver(graph, modelName: model.name, modelTypeName: modelTypeName, isNew: isNew)
  }

  /// The entities that are reachable through relationships and inheritance, starting from the given ones.
  private static func reachable(from names: [String], in graph: EntityGraph) -> Set<String> {
    var result: Set<String> = []
    var pending = names
    while let name = pending.popLast() {
      guard graph.entity(name) != nil, result.insert(name).inserted else { continue }
      pending += graph.relationships(of: name).map(\.destination)
      pending += graph.descendants(of: name).map(\.name)
    }
    return result
  }

  /// The enumerations and composites that are types of the entities' stored attributes.
  private func usedTypes(of entities: Set<String>, _ graph: EntityGraph) -> Set<String> {
    var result: Set<String> = []
    func add(_ type: AttributeType) {
      switch type {
      case .enumeration(let name): result.insert(name)
      case .composite(let name):
        if result.insert(name).inserted {
          for field in graph.composite(name)?.fields ?? [] { add(field.type) }
        }
      default: break
      }
    }
    for name in entities {
      for attribute in graph.attributes(of: name) where attribute.isStored { add(attribute.type) }
    }
    return result
  }
}

/// The values of a mapping that follow from rules and inference, in words.
struct KnownValues {
  /// Properties that are copied from the source property with the same name.
  private(set) var kept: [String] = []
  /// Computed properties with their expressions: `score = CAST(rating, "Float", 0)`.
  private(set) var calculated: [String] = []

  init(_ mapping: EntityMapping) {
    for each in mapping.attributes {
      let path = ValueExpression.keyPath(each.name.split(separator: ".").map(String.init))
      if each.value == path || each.value == .keyPath(each.name) {
        kept.append(each.name)
      } else {
        calculated.append("\(each.name) = \(each.value.canonicalText)")
      }
    }
    for each in mapping.relationships {
      switch each.value {
      case .objects(let value):
        if value == .keyPath([each.name]) {
          kept.append(each.name)
        } else {
          calculated.append("\(each.name) = the destination objects of \(value.canonicalText)")
        }
      case .inverse: calculated.append("\(each.name), by its inverse")
      case .none: calculated.append("\(each.name), which is empty")
      }
    }
  }
}
