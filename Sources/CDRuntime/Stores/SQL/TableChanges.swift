import CDModel

/// The changes of a store's tables in a step of a migration that leaves all rows in their tables. Columns and tables are
/// added, dropped or renamed.
package struct TableChanges {
  /// The change of one table.
  package struct Change {
    package var old: TableLayout
    package var new: TableLayout
    /// The old name and the new name of each column that stays.
    package var kept: [(old: String, new: String)] = []
    /// The new columns, each with the value that all rows get.
    package var added: [(column: ColumnLayout, value: AttributeValue)] = []
    package var dropped: [String] = []
    /// The columns, including new ones, whose values are computed from other values of the row.
    var computed: [Computed] = []

    /// Whether existing columns are renamed, dropped or rewritten. Adding columns does not touch the rows, and counting
    /// the rows would take longer than such a step.
    var isTouched: Bool { isAltered || !computed.isEmpty }

    /// Whether the table is renamed, or existing columns are renamed or dropped.
    var isAltered: Bool {
      old.name != new.name || !dropped.isEmpty || kept.contains { $0.old != $0.new }
    }

    /// The old names of the columns that become optional.
    @_optimize(none)
    package var loosened: [String] {
      kept.filter { isMandatory($0.old, in: old) && !isMandatory($0.new, in: new) }.map(\.old)
    }

    /// Whether a column that stays becomes optional or mandatory.
    var hasOtherRules: Bool {
      kept.contains { isMandatory($0.old, in: old) != isMandatory($0.new, in: new) }
    }

    /// Whether the table has other checks, or their columns have other names.
    package var hasOtherChecks: Bool {
      old.constraints != new.constraints || !old.constraints.isEmpty && kept.contains { $0.old != $0.new }
    }

    private func isMandatory(_ name: String, in table: TableLayout) -> Bool {
      table.columns.first { $0.name == name }?.isNotNull == true
    }
  }

  /// A column whose values are computed from other values of the row.
  struct Computed {
    let column: ColumnLayout
    /// The value for a row `t0` with the old column names.
    let value: SQLText
    /// The existing column of this name; nil if the column is new.
    let old: ColumnLayout?
  }

  /// The step of the migration.
  package let step: MigrationError.Step
  /// The tables that stay.
  package let changed: [Change]
  package let created: [TableLayout]
  /// The names of the tables that are dropped.
  package let dropped: [String]
  /// The tables and indexes of the old version.
  package let old: SQLSchema
  /// The tables and indexes of the new version.
  package let new: SQLSchema
}
