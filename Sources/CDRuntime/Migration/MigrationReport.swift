public import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The result of a ``MigrationRehearsal``.
///
/// ```swift
/// let report = try MigrationRehearsal(PersistentStoreDescription(.sqlite(url)), model: model).run()
/// for step in report.steps {
///   for loss in step.losses { print(loss.description, loss.count ?? 0) }
///   for problem in step.problems { print(problem) }
/// }
/// if let refusal = report.refusal { print("it would fail: \(refusal)") }
/// ```
///
/// ## Topics
///
/// ### Steps
/// - ``Step``
/// - ``Kind``
/// - ``Loss``
/// - ``Problem``
///
/// ### Results for the whole store
/// - ``EntityCount``
/// - ``Part``
public struct MigrationReport: Hashable, Sendable {
  /// The source of the rules by which a step migrates objects.
  public enum Kind: String, Hashable, Sendable {
    /// Inference from the two versions alone.
    case automatic
    /// Also a mapping.
    case mapped
    /// Also the app's own code.
    case custom
  }

  /// One migration step.
  public struct Step: Hashable, Sendable {
    /// The differences between the two versions, and how the step handles them.
    public let step: MigrationStep
    /// The source of the rules by which the step migrates objects.
    @_optimize(none)
    public var kind: Kind {
      if step.mapping.entityMappings.contains(where: { $0.kind == .custom }) { return .custom }
      return step.rules == nil ? .automatic : .mapped
    }
    /// Whether the step was made. The last step of a report may have been refused: see ``MigrationReport/refusal``.
    public internal(set) var isDone = false
    /// The statements, each listed once, with the number of times it was run. Empty if the step did not begin. If a server
    /// would change its tables without moving rows, these are the server's statements, which the rehearsal does not run.
    public internal(set) var statements: [Statement] = []
    /// The losses of the step, confirmed or not.
    public internal(set) var losses: [Loss] = []
    /// The objects that the step cannot create, because of which it is refused.
    public internal(set) var problems: [Problem] = []
    /// The duration of the step.
    public internal(set) var duration = Duration.zero

    init(_ step: MigrationStep) { self.step = step }
  }

  /// An SQL statement.
  public struct Statement: Hashable, Sendable {
    /// The text of the statement, in which `?` stands for a value.
    public let sql: String
    /// The number of times that the statement was run.
    public internal(set) var count: Int
  }

  /// Data of the store that the migration loses.
  public struct Loss: Hashable, Sendable {
    /// The unit of a loss's count.
    public enum Unit: String, Hashable, Sendable {
      /// Objects.
      case objects
      /// Values that are not nil.
      case values
      /// Pairs of related objects, or positions of objects in an ordered relationship.
      case relations
    }

    /// A description of the loss.
    public let description: String
    /// The number of lost objects, values or relations; nil if it cannot be counted.
    public let count: Int?
    /// The unit of the count.
    public let unit: Unit
    /// Whether a `drop:` or a filter confirms the loss, or whether it needs no confirmation, as for tables of other programs.
    public let isConfirmed: Bool
  }

  /// Objects that break one rule of the model.
  public struct Problem: Hashable, Sendable, CustomStringConvertible {
    /// The name of the entity.
    public let entity: String
    /// The name of the property, or several names with commas between them; nil if the problem concerns no single
    /// property.
    public let property: String?
    /// The broken rule, as a phrase about the property.
    public let rule: String
    /// The number of objects that break the rule.
    public internal(set) var count: Int
    /// The URIs of the first few of them.
    public internal(set) var objects: [URL]

    /// The maximum number of objects that are named.
    static let namedObjects = 5

    /// `'age' of 'Person' is mandatory and has no value: 12 objects, cdgen://… and others`.
    @_optimize(none)
    public var description: String {
      let subject = property.map { "'\($0)' of '\(entity)'" } ?? "'\(entity)'"
      let number = count == 1 ? "1 object" : "\(count) objects"
      let names = objects.map(\.absoluteString).joined(separator: ", ")
      let others = count > objects.count && !objects.isEmpty ? " and others" : ""
      return "\(subject) \(rule): \(number)" + (names.isEmpty ? "" : ", \(names)\(others)")
    }
  }

  /// The number of objects of an entity, without those of its subentities.
  public struct EntityCount: Hashable, Sendable {
    /// The entity's name in the store's version; nil if the entity is new.
    public let source: String?
    /// The entity's name in the version that the rehearsal reached; nil if the entity is gone.
    public let destination: String?
    /// The number of objects before the migration; nil if the entity is new.
    public let before: Int?
    /// The number of objects after the migration; nil if the entity is gone.
    public let after: Int?
  }

  /// One of the merged models whose objects a file holds.
  public struct Part: Hashable, Sendable {
    /// The model's name.
    public let model: String
    /// The number of the store's version.
    public let source: Int
    /// The number of the version to migrate to.
    public let destination: Int
    /// The number of the version that the rehearsal reached.
    public internal(set) var reached: Int
  }

  /// The location of the store.
  public let storeURL: URL
  /// The number of the store's version. A merged model has only version 1: see ``parts``.
  public let source: Int
  /// The number of the version to migrate to.
  public let destination: Int
  /// The number of the version that the rehearsal reached.
  public internal(set) var reached: Int
  /// For a merged model in one file, the models that it consists of, in their order. Empty for any other model.
  public internal(set) var parts: [Part] = []
  /// The steps up to the destination, or up to the step that is refused. Empty if both versions store the same.
  public internal(set) var steps: [Step] = []
  /// The reason why the migration would fail; nil if it would succeed.
  public internal(set) var refusal: MigrationError?
  /// Whether the migration is one transaction in the store's own file. Otherwise it creates a new file that replaces
  /// the store's file.
  public internal(set) var isInPlace = true
  /// The entities of the store and of the rehearsal's result, with their numbers of objects.
  public internal(set) var entities: [EntityCount] = []
  /// The objects that break a rule of the version that the rehearsal reached. They are migrated anyway, but cannot be
  /// saved until they are corrected.
  public internal(set) var brokenRules: [Problem] = []
  /// The size of the store's file in bytes. The files of large values do not count, because they stay as they are.
  public internal(set) var fileSize: Int64 = 0
  /// The maximum number of bytes that the migration needs on the disk, in addition to the store.
  public internal(set) var neededSpace: Int64 = 0
  /// The number of free bytes on the store's disk; nil if it cannot be found out.
  public internal(set) var freeSpace: Int64?

  /// The duration of all steps, without the time that the rehearsal needs for copying and counting.
  public var duration: Duration { steps.reduce(.zero) { $0 + $1.duration } }

  /// Whether the migration would succeed.
  public var succeeds: Bool { refusal == nil }

  init(_ url: URL, source: Int, destination: Int) {
    storeURL = url
    self.source = source
    self.destination = destination
    reached = source
  }
}
