import CDModel
import CDTooling

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The initial files of a new model.
public enum ModelTemplate {
  /// The files of a new model's folder by name: `model.yaml`, and a first version that shows the language.
  ///
  /// - Parameters:
  ///   - name: The model's name, which is the folder's name without `.cdmodel`.
  ///   - id: The model's identity. Each model needs a new one.
  ///   - isFurther: Whether the target has another model already. If so, the names of the entities start with the model's
  ///     name, because all models of a target declare their classes in one module.
  public static func files(name: String, id: UUID, isFurther: Bool = false) -> [String: String] {
    [
      "model.yaml": modelFile(name: name, id: id),
      VersionFile.name(of: 1): firstVersion(prefix(ofModel: name, isFurther: isFurther)),
    ]
  }

  /// The reason why a model cannot have a name; nil for a valid name.
  public static func problem(withName name: String) -> String? { NameRules.problem(with: name) }

  /// The source of a program that stores an object of the new model and fetches it again.
  ///
  /// - Parameters:
  ///   - name: The model's name.
  ///   - isFurther: The same as for the model's files.
  public static func firstProgram(model name: String, isFurther: Bool = false) -> String {
    let type = ManagedObjectModel.typeName(ofModel: name)
    let item = prefix(ofModel: name, isFurther: isFurther) + "Item"
    return """
      import CDRuntime
      import Foundation

      // Opens the store. The first run creates it.
      let container = try PersistentContainer(for: \(type).self, at: URL(filePath: "\(name).sqlite"))
      let context = container.viewContext

      let item = \(item)(name: "Item \\(try \(item).count(in: context) + 1)", in: context)
      item.note = "inserted by main.swift"
      try context.save()

      for item in try \(item).fetch(where: \\.done == false, sortedBy: \\.created, in: context) {
        print(item.name, item.created)
      }

      """
  }

  /// The beginning of the entities' names.
  private static func prefix(ofModel name: String, isFurther: Bool) -> String {
    isFurther ? name.prefix(1).uppercased() + name.dropFirst() : ""
  }

  private static func modelFile(name: String, id: UUID) -> String {
    """
    # The model \(name). Its versions are files beside this one: 1.yaml, 2.yaml, …

    # The model's identity. Never change it: a store can only be opened with the model that created it.
    id: \(id.uuidString)

    # The version of the generated classes. The default is the highest version.
    # current: 1

    # Modules that generated code imports for the types of 'codable' attributes.
    # imports: [MyTypes]

    # The access level of generated declarations: internal (the default), package or public.
    # access: public

    """
  }

  private static func firstVersion(_ prefix: String) -> String {
    """
    # The first version. Lock it with 'cdgen lock' when you release it. 'cdgen add-version' creates the next one.
    # 'cdgen check' reports mistakes with line and column.

    entities:
      \(prefix)Item:
        doc: Something with a name.
        attributes:
          name: String                                # mandatory
          note: String?                               # optional
          created: { type: Date, default: now() }
          done: { type: Bool, default: false }
        relationships:
          folder: { to: "\(prefix)Folder?", inverse: items }   # at most one; [Item] is to many
        indexes: [[created], [done, -created]]        # one list for each index; - is descending
        fetches:
          open:                                       # \(prefix)Item.open(before:in:)
            where: done == NO AND created < $before
            sort: [-created]
      \(prefix)Folder:
        attributes:
          name: String
        relationships:
          items: { to: [\(prefix)Item], inverse: folder, onDelete: cascade, ordered: true }
        unique: [[name]]

    # Types: \(AttributeType.named.map(\.name).joined(separator: " ")), and types that you define here:
    # enums:
    #   Priority: { type: Int16, cases: { low: 0, normal: 1, high: 2 } }
    # composites:
    #   Address: { street: String, city: "String?" }

    """
  }
}

extension ModelTemplate {
  /// The `model.yaml` of an imported model.
  ///
  /// - Parameters:
  ///   - name: The model's name.
  ///   - id: The model's identity. Each model needs a new one.
  ///   - current: The version that generated classes match; nil for the highest.
  public static func modelFile(name: String, id: UUID, current: Int?) -> String {
    let line = current.map { "current: \($0)" } ?? "# current: 1"
    return modelFile(name: name, id: id).split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0 == "# current: 1" ? line : String($0) }.joined(separator: "\n")
  }
}
