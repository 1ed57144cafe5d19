import CDMapping
public import CDModel
import CDTooling

/// The initial code of an app for the custom steps between two versions of a model.
///
/// It contains everything that follows from rules and inference. Where only the author knows the value, it contains an
/// `#error`. The code compiles after the author has replaced each of them.
///
/// ```swift
/// if let stub = try MigrationStub(model, from: 1, to: 2) { print(stub.text) }
/// ```
public struct MigrationStub: Sendable {
  /// The Swift file.
  public let text: String

  /// Creates the stub; nil if no step between the versions has a custom entity mapping.
  ///
  /// - Parameters:
  ///   - model: The model with all versions.
  ///   - source: The number of the version of existing stores.
  ///   - destination: The number of the version to migrate to, on the way to the current one.
  ///   - typeName: The name of the type that implements the model's `Migrations`. The default for a model `ToDo` is
  ///     `ToDoMigrations`. If steps before `source` have custom mappings too, the type already exists, and the stub
  ///     extends it.
  /// - Throws: ``GenerationError`` with the problems that prevent the generation of Swift.
  public init?(
    _ model: ManagedObjectModel, from source: Int, to destination: Int, typeName: String? = nil
  ) throws(GenerationError) {
    var resolver = MigrationResolver(model)
    guard let declaration = resolver.declaration() else { return nil }
    guard resolver.problems.isEmpty else { throw GenerationError(problems: resolver.problems) }
    let path = VersionPaths(model).path(from: source, to: destination) ?? []
    let pairs = Set(zip(path, path.dropFirst()).map { [$0, $1] })
    let steps = declaration.steps.filter { pairs.contains([$0.source, $0.destination]) }
    guard !steps.isEmpty else { return nil }
    let isFirst = declaration.steps.first?.source == steps.first?.source
    let name = typeName.map(SwiftName.escaped) ?? Self.typeName(of: model)
    var writer = StubWriter(model: model, declaration: declaration, typeName: name)
    writer.write(steps, source: source, destination: destination, declaresType: isFirst)
    text = writer.out.text
  }

  /// The default name of the type that implements a model's `Migrations`.
  public static func typeName(of model: ManagedObjectModel) -> String {
    SwiftName.capitalized(model.name) + "Migrations"
  }
}

/// Writes the text of a ``MigrationStub``.
struct StubWriter {
  let model: ManagedObjectModel
  let declaration: MigrationDeclaration
  let typeName: String
  var out = SourceWriter(capacity: 4096)

  mutating func write(_ steps: [StepDeclaration], source: Int, destination: Int, declaresType: Bool) {
    out.line(
      "// The app's own part of the migration of \(model.name) from version \(source) to version \(destination)."
    )
    out.line("//")
    out.line(
      "// 'cdgen stub' has written the beginning of this file, and never changes it again. Each #error asks a question:"
    )
    out.line("// replace it with a statement.")
    out.line("import CDRuntime")
    out.line("import Foundation")
    out.blank()
    if declaresType {
      out.open("nonisolated struct ", typeName, ": ", declaration.modelTypeName, ".Migrations")
    } else {
      // The type already exists with the code for earlier steps.
      out.open("nonisolated extension ", typeName)
    }
    for (place, step) in steps.enumerated() {
      if place > 0 { out.blank() }
      self.step(step)
    }
    out.close()
  }

  private mutating func step(_ step: StepDeclaration) {
    out.line("// MARK: Version \(step.source) to version \(step.destination)")
    for mapping in step.mappings {
      out.blank()
      out.documentation(mapping.doc)
      if mapping.sourceType == nil { writeCompletion(mapping, step) } else { writeCreation(mapping, step) }
    }
    out.blank()
    out.line("// Further functions, which do nothing unless you implement them:")
    for mapping in step.mappings {
      if let relate = mapping.relate, let source = mapping.sourceType {
        out.line("// - func \(relate)(_ destination: \(mapping.destinationType), from source: \(source),")
        out.line("//   in manager: MigrationManager) throws: called when all objects exist")
      }
    }
    out.line(
      "// - func begin\(step.suffix), end\(step.suffix), validate\(step.suffix)(in manager: MigrationManager) throws"
    )
  }

  // MARK: Requirements

  private mutating func writeCreation(_ mapping: CustomMappingDeclaration, _ step: StepDeclaration) {
    out.line("func ", mapping.make, "(")
    out.line("  from source: ", mapping.sourceType ?? "", ", in manager: MigrationManager")
    out.open(") throws -> ", mapping.destinationType, "?")
    hints(mapping, step)
    for parameter in mapping.unknown {
      out.line("let \(Self.local(parameter)): \(parameter.type)")
      out.line("#error(", SwiftLiteral.string(question(of: parameter, mapping, step)), ")")
    }
    let label = mapping.originLabel + ": source"
    let arguments = [label] + mapping.unknown.map { "\(SwiftName.label($0.plainName)): \(Self.local($0))" }
    out.line("let made = try ", mapping.destinationType, "(")
    out.line("  ", (arguments + ["in: manager"]).joined(separator: ", "), ")")
    out.line(
      "// The properties already have the values of rules and inference. Set other values here: made.… = …")
    for part in undecided(mapping, step) where !mapping.unknown.contains(where: { $0.key == part.name }) {
      let (name, entity) = (part.name, mapping.mapping.destination ?? "")
      let task =
        name == UndecidedPart.filter
        ? "Return nil for the others" : "Set 'made.\(SwiftName.escaped(name))', or keep the inferred objects"
      let text =
        "\(entity).\(name) is undecided (\(part.note)). \(task); then delete '\(name)' under 'undecided' in the mapping"
      out.line("#error(", SwiftLiteral.string(text), ")")
    }
    out.line("return made")
    out.close()
  }

  /// The undecided parts of a mapping's rule.
  private func undecided(_ mapping: CustomMappingDeclaration, _ step: StepDeclaration) -> [UndecidedPart] {
    let rules = step.step.rules?.entities ?? []
    let own = rules.filter {
      $0.destination == mapping.mapping.destination
        && ($0.name.map { $0 == mapping.mapping.name }
          ?? ($0.source == nil || $0.source == mapping.mapping.source))
    }
    return own.flatMap(\.undecided)
  }

  private mutating func writeCompletion(_ mapping: CustomMappingDeclaration, _ step: StepDeclaration) {
    let entity = mapping.mapping.destination ?? ""
    out.open("func ", mapping.make, "(in manager: MigrationManager) throws")
    out.line(
      "#error(",
      SwiftLiteral.string(
        "\(entity): which objects are there to be from the beginning? Make each with '\(mapping.destinationType)', or none"
      ), ")")
    out.close()
  }

  /// Writes the source properties that no rule uses yet, as hints for the author.
  private mutating func hints(_ mapping: CustomMappingDeclaration, _ step: StepDeclaration) {
    guard let version = declaration.versions.first(where: { $0.number == step.source }),
      let source = mapping.mapping.source,
      let view = version.snapshots.first(where: { $0.entity == SwiftLiteral.string(source) })
    else { return }
    let known = KnownValues(mapping.mapping)
    let words =
      (known.kept
      + known.calculated.compactMap { $0.split(separator: "=", maxSplits: 1).last.map(String.init) })
      .flatMap { $0.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init) }
    let unused = view.properties.filter { !words.contains($0.plainName) }
    guard !unused.isEmpty else { return }
    out.line("// Not taken over yet:")
    for property in unused { out.line("// - source.\(property.property): \(property.type)") }
  }

  private func question(
    of parameter: ViewDeclaration.Parameter, _ mapping: CustomMappingDeclaration, _ step: StepDeclaration
  ) -> String {
    let entity = mapping.mapping.destination ?? ""
    let reasons = step.step.changes.filter { change in
      guard change.resolution == .custom, change.mappings.contains(mapping.mapping.name) else { return false }
      switch change.element.element {
      case .attribute(let name): return !parameter.isRelationship && name.name == parameter.key
      case .relationship(let name): return parameter.isRelationship && name.name == parameter.key
      default: return false
      }
    }
    let local = Self.local(parameter)
    let note = undecided(mapping, step).first { $0.name == parameter.key }?.note
    let reason = note.map { "undecided (\($0))" } ?? reasons.map(\.summary).joined(separator: "; ")
    var text = "\(entity).\(parameter.key): \(reason.isEmpty ? "nothing gives it" : reason). Set '\(local)'"
    if parameter.isRelationship, let relate = mapping.relate {
      text +=
        parameter.type.hasSuffix("?")
        ? ", to nil if '\(relate)' is to find it" : ", to [] if '\(relate)' is to find them"
    }
    return text
  }

  /// The name of the constant for an answer.
  private static func local(_ parameter: ViewDeclaration.Parameter) -> String {
    ["source", "manager", "made"].contains(parameter.name) ? parameter.name + "_" : parameter.name
  }
}

extension ViewDeclaration.Parameter {
  /// The name without backticks.
  var plainName: String { name.filter { $0 != "`" } }
}

extension ViewDeclaration.Property {
  /// The name without backticks.
  var plainName: String { property.filter { $0 != "`" } }
}
